# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's training performance (§6.2 to §6.4, Figs. 17, 19, 20), by the closed-form model.

The paper gives neither an NPU's speed nor a lane's rate nor what overlaps what. Two readings of what it
leaves open are computed, and each has its own verdict: collectives inside a rack borrow idle uplinks, or they
do not. Both have the same interval; it was declared with first runs of the model in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from harness.files import EXPERIMENTS
from papers.claims import Check, Claim, Measured, Progress, Values
from papers.claims.declare import Figure, around, between, changed, identity, stated
from papers.training.study import READINGS as ALL
from papers.training.study import Given, Outcome, load, run

__all__ = ["CHECKS"]


READINGS = {"borrowed": "idle uplinks borrowed", "apart": "uplinks apart"}
SPANS = {"short": "8K-32K", "long": "64K-10M"}

_SLOW = changed("lanes of a fifth of the rate", lane_gbps=20.0)

_SPEED = (
    "speed of an NPU and rate of a lane are assumed, the paper gives neither: an NPU twice as fast moves the"
    " figure as far down as the detail says"
)
_LONG = (
    "arithmetic of attention grows with the square of the length here, so collectives count for less and"
    " less; the paper's value does not rise"
)
_UPLINKS = (
    "with idle uplinks borrowed 2D-FM has x44 across boards, 1D-FM-A x32, so little is left to gain; the"
    " paper does not say whether 2D-FM borrows"
)
_EP = (
    "EP lies along one row of racks here, where the direct links are x6 of an NPU's x16; how the paper places"
    " it is not known"
)
_MORE = "mean over five models; the paper does not say whether racks borrow idle uplinks, nor its NPU's speed"
_BEST = (
    "lanes between peers are worth more here; with idle uplinks borrowed inside the rack x32 is best whatever"
    " the rates, so that reading makes no claim"
)
_MORE_LANES = changed("uplinks on top of the NPU's 72 lanes", traded="")


def _both(
    name: str,
    text: str,
    paper: Figure | str,
    borrowed: tuple[float, float] | None = None,
    apart: tuple[float, float] | None = None,
    reason: str = "",
    *,
    place: str,
    unit: str = "%",
    within: float = 0,
    holds: Figure | None = None,
) -> tuple[Claim, ...]:
    """Return a claim for each reading; `borrowed` and `apart` are the expected known differences."""
    differences = {"borrowed": borrowed, "apart": apart}
    expected = {reading: between(*ends) if ends else None for reading, ends in differences.items()}
    return tuple(
        stated(
            f"{name}-{reading}",
            f"{text} ({words})",
            paper,
            unit,
            _SLOW,
            place=f"UB-Mesh {place}",
            within=within,
            holds=holds,
            expected=expected[reading],
            reason=reason if expected[reading] else "",
        )
        for reading, words in READINGS.items()
    )


@cache
def _outcome(folder: str, note: Progress, lane_gbps: float, pflops: float, few: bool = False) -> Outcome:
    """Return the outcome of a study file; `few`: its first two variants and first span only."""
    study = load(EXPERIMENTS / folder / "model.yaml")
    given = Given(**{**study.assumptions.model_dump(), "lane_gbps": lane_gbps, "pflops": pflops})
    changes: dict[str, object] = {"assumptions": given}
    if few:
        changes |= {"variants": study.variants[:2], "spans": study.spans[:1]}
    study = study.model_copy(update=changes)
    total = len(ALL) * len(study.variants) * len(study.models)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        note("searching layouts", done / total)

    return run(study, advance)


def _values(
    figures: Mapping[str, Callable[[str], float]], details: Mapping[str, str] | None = None
) -> Values:
    """Return each figure for both readings."""
    words = details or {}
    return {
        f"{name}-{reading}": Measured(value(reading), detail=words.get(f"{name}-{reading}", ""))
        for name, value in figures.items()
        for reading in READINGS
    }


_fig_17 = partial(_both, place="§6.2, Fig. 17", within=0.5)

RACK = (
    *_both(
        "mean",
        "2D-FM against a Clos rack, mean of all models and lengths",
        between(93.2, 95.9),
        (97.3, 99.3),
        (95.5, 96.5),
        _SPEED,
        place="§6.2, Fig. 17",
    ),
    *_both(
        "least",
        "2D-FM against a Clos rack, least of all lengths",
        between(93, 100),
        None,
        (91.5, 92.9),
        _SPEED,
        place="§6.2, Fig. 17(b): within 7 %",
    ),
    *_fig_17("short", "2D-FM, 8K to 32K", 95.5, (96.3, 97.4), (92.2, 93.4), _SPEED),
    *_fig_17("long", "2D-FM, 64K to 10M", 95.0, (98.3, 99.3), (96.6, 97.7), _LONG),
    *_fig_17("a-short", "1D-FM-A, 8K to 32K", 98.1, (97.0, 97.59), (93.9, 95.0), _SPEED),
    *_fig_17("b-short", "1D-FM-B, 8K to 32K", 99.2, (97.2, 98.3), (97.2, 98.3), _SPEED),
    *_both(
        "a-llama",
        "1D-FM-A ahead of 2D-FM, Llama2-70B",
        2.44,
        (0.7, 1.4),
        None,
        _UPLINKS,
        place="§6.2",
        unit="points",
        within=0.5,
    ),
    *_both(
        "b-mean",
        "1D-FM-B ahead of 2D-FM, mean of all models and lengths",
        "a little above 3",
        (0.1, 0.6),
        None,
        _UPLINKS,
        place="§6.2",
        unit="points",
        holds=around(3.0, 0.6),
    ),
)


def _rack(note: Progress, lane_gbps: float = 100.0) -> Values:
    outcome = _outcome("04_intra_rack", note, lane_gbps, 0.5)
    faster = _outcome("04_intra_rack", note, lane_gbps, 1.0, few=True)
    spans = {name: outcome.study.span(span) for name, span in SPANS.items()}

    def percent(variant: str, span: str = "", model: str = "") -> Callable[[str], float]:
        lengths, models = spans.get(span), [model] if model else None
        return lambda reading: outcome.percent(reading, variant, models, lengths)

    def ahead(variant: str, model: str = "") -> Callable[[str], float]:
        return lambda reading: percent(variant, "", model)(reading) - percent("2d-fm", "", model)(reading)

    twice = {
        f"short-{reading}": f"{faster.percent(reading, '2d-fm'):.2f} % with an NPU twice as fast"
        for reading in READINGS
    }
    return _values(
        {
            "mean": percent("2d-fm"),
            "least": lambda reading: min(
                outcome.percent(reading, "2d-fm", None, [length]) for length in outcome.study.sequences
            ),
            "short": percent("2d-fm", "short"),
            "long": percent("2d-fm", "long"),
            "a-short": percent("1d-fm-a", "short"),
            "b-short": percent("1d-fm-b", "short"),
            "a-llama": ahead("1d-fm-a", "llama2-70b"),
            "b-mean": ahead("1d-fm-b"),
        },
        twice,
    )


_fig_19 = partial(_both, place="§6.3, Fig. 19", unit="points")

RACKS = (
    *_both(
        "widest",
        "gap of Detour and Borrow to Clos, widest of all models",
        "negligible",
        place="§6.3, Fig. 19: negligible",
        unit="points",
        holds=between(0, 1),
    ),
    *_fig_19("gpt4-borrow", "gap of Detour and Borrow to Clos, GPT4-2T", 0.46, within=0.2),
    *_fig_19(
        "gpt4-shortest", "gap of Shortest to Clos, GPT4-2T", 0.73, (1.3, 2.2), (1.3, 2.2), _EP, within=0.2
    ),
    *_fig_19("gpt3-shortest", "gap of Shortest to Clos, GPT3-175B", "insensitive", holds=between(0, 0.5)),
    identity(
        "order",
        "Borrow no slower than Detour, Detour no slower than Shortest: cases",
        100,
        "%",
        place="UB-Mesh §6.3, Fig. 19",
        reason="each may use all paths of the one before, and the model takes the best split of traffic",
    ),
)


def _racks(note: Progress, lane_gbps: float = 100.0) -> Values:
    outcome = _outcome("05_inter_rack", note, lane_gbps, 0.5)
    models, lengths = outcome.study.models, outcome.study.sequences

    def gap(variant: str, model: str) -> Callable[[str], float]:
        return lambda reading: 100 - outcome.percent(reading, variant, [model])

    ordered = [
        outcome.percent(reading, "shortest", [model], [length]) - 1e-9
        <= outcome.percent(reading, "detour", [model], [length])
        <= outcome.percent(reading, "borrow", [model], [length]) + 1e-9
        for reading in READINGS
        for model in models
        for length in lengths
    ]
    return {
        **_values(
            {
                "widest": lambda reading: max(gap("borrow", model)(reading) for model in models),
                "gpt4-borrow": gap("borrow", "gpt4-2t"),
                "gpt4-shortest": gap("shortest", "gpt4-2t"),
                "gpt3-shortest": gap("shortest", "gpt3-175b"),
            }
        ),
        "order": Measured(100 * sum(ordered) / len(ordered), detail=f"{len(ordered)} cases"),
    }


_most_useful = partial(stated, place="UB-Mesh §6.3, Fig. 20", reason=_BEST)

BANDWIDTH = (
    *_both(
        "short",
        "x8 to x16 lanes out of the rack, 8K to 32K",
        0.44,
        (2.0, 3.2),
        (0.6, 1.1),
        _MORE,
        place="§6.3, Fig. 20",
        within=0.25,
    ),
    *_both(
        "long",
        "x16 to x32 lanes out of the rack, 64K to 10M",
        1.85,
        None,
        (0.6, 1.2),
        _MORE,
        place="§6.3, Fig. 20(b)",
        within=0.5,
    ),
    *(
        _most_useful(
            f"best-{span}",
            f"most useful lanes of 72 out of the rack, {lengths} (uplinks apart)",
            paper,
            "lanes",
            _MORE_LANES,
            expected=ours,
        )
        for span, lengths, paper, ours in (("short", "8K to 32K", 16, 8), ("long", "64K to 10M", 32, 16))
    ),
)


def _bandwidth(note: Progress, lane_gbps: float = 100.0, traded: str = "-traded") -> Values:
    outcome = _outcome("06_bandwidth", note, lane_gbps, 0.5)
    spans = {name: outcome.study.span(span) for name, span in SPANS.items()}

    def gain(new: str, old: str, span: Sequence[str]) -> Callable[[str], float]:
        return lambda reading: outcome.percent(reading, new, None, span, old) - 100

    def best(span: Sequence[str]) -> int:
        lanes = {4: f"x4{traded}", 8: f"x8{traded}", 16: "x16", 32: f"x32{traded}"}
        return max(lanes, key=lambda count: outcome.percent("apart", lanes[count], None, span))

    gains = {"short": gain("x16", "x8", spans["short"]), "long": gain("x32", "x16", spans["long"])}
    return {**_values(gains), "best-short": best(spans["short"]), "best-long": best(spans["long"])}


CHECKS = (
    Check(
        "training-rack", "ub-mesh", "a rack as 2D-FM, 1D-FM, Clos: training performance, Fig. 17", RACK, _rack
    ),
    Check(
        "training-racks",
        "ub-mesh",
        "Shortest, Detour, Borrow against Clos between racks, Fig. 19",
        RACKS,
        _racks,
    ),
    Check("training-bandwidth", "ub-mesh", "x4 to x32 lanes out of the rack, Fig. 20", BANDWIDTH, _bandwidth),
)
