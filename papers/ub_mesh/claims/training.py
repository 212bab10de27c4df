# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's training performance (§6.2 to §6.4, Figs. 17, 19, 20), by the closed-form model.

The paper gives neither an NPU's speed nor a lane's rate nor what overlaps what. Two readings of what it
leaves open are computed, and each has its own verdict: collectives inside a rack borrow idle uplinks, or they
do not. Both have the same interval; it was declared with first runs of the model in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from papers.claims import (
    Check,
    Claim,
    Interval,
    Kind,
    Measured,
    Mutation,
    Progress,
    Values,
    around,
    between,
    changed,
    exactly,
)

if TYPE_CHECKING:
    from papers.training.study import Outcome

__all__ = ["CHECKS"]

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"

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
    place: str,
    holds: Interval,
    mutation: Mutation,
    *,
    paper: Interval | str,
    unit: str = "%",
    borrowed: Interval | None = None,
    apart: Interval | None = None,
    reason: str = "",
) -> tuple[Claim, ...]:
    """Return a claim for each reading; `borrowed` and `apart` are the expected known differences."""
    expected = {"borrowed": borrowed, "apart": apart}
    return tuple(
        Claim(
            name=f"{name}-{reading}",
            text=f"{text} ({words})",
            place=f"UB-Mesh {place}",
            kind=Kind.stated,
            unit=unit,
            paper=paper,
            holds=holds,
            expected=expected[reading],
            reason=reason if expected[reading] else "",
            mutation=mutation,
        )
        for reading, words in READINGS.items()
    )


@cache
def _outcome(folder: str, note: Progress, lane_gbps: float, pflops: float, few: bool = False) -> Outcome:
    """Return the outcome of a study file; `few`: its first two variants and first span only."""
    from papers.training.study import READINGS as ALL
    from papers.training.study import Given, load, run

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


RACK = (
    *_both(
        "mean", "2D-FM against a Clos rack, mean of all models and lengths", "§6.2, Fig. 17", between(93.2,
        95.9),
        _SLOW, paper=between(93.2, 95.9), borrowed=between(97.3, 99.3), apart=between(95.5, 96.5),
        reason=_SPEED,
    ),
    *_both(
        "least", "2D-FM against a Clos rack, least of all lengths", "§6.2, Fig. 17(b): within 7 %",
        between(93, 100), _SLOW, paper=between(93, 100), apart=between(91.5, 92.9), reason=_SPEED,
    ),
    *_both(
        "short", "2D-FM, 8K to 32K", "§6.2, Fig. 17", around(95.5, 0.5), _SLOW, paper=exactly(95.5),
        borrowed=between(96.3, 97.4), apart=between(92.2, 93.4), reason=_SPEED,
    ),
    *_both(
        "long", "2D-FM, 64K to 10M", "§6.2, Fig. 17", around(95.0, 0.5), _SLOW, paper=exactly(95.0),
        borrowed=between(98.3, 99.3), apart=between(96.6, 97.7), reason=_LONG,
    ),
    *_both(
        "a-short", "1D-FM-A, 8K to 32K", "§6.2, Fig. 17", around(98.1, 0.5), _SLOW, paper=exactly(98.1),
        borrowed=between(97.0, 97.59), apart=between(93.9, 95.0), reason=_SPEED,
    ),
    *_both(
        "b-short", "1D-FM-B, 8K to 32K", "§6.2, Fig. 17", around(99.2, 0.5), _SLOW, paper=exactly(99.2),
        borrowed=between(97.2, 98.3), apart=between(97.2, 98.3), reason=_SPEED,
    ),
    *_both(
        "a-llama", "1D-FM-A ahead of 2D-FM, Llama2-70B", "§6.2", around(2.44, 0.5), _SLOW, unit="points",
        paper=exactly(2.44), borrowed=between(0.7, 1.4), reason=_UPLINKS,
    ),
    *_both(
        "b-mean", "1D-FM-B ahead of 2D-FM, mean of all models and lengths", "§6.2", around(3.0, 0.6), _SLOW,
        unit="points", paper="a little above 3", borrowed=between(0.1, 0.6), reason=_UPLINKS,
    ),
)  # fmt: skip


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


RACKS = (
    *_both(
        "widest", "gap of Detour and Borrow to Clos, widest of all models", "§6.3, Fig. 19: negligible",
        between(0, 1), _SLOW, paper="negligible", unit="points",
    ),
    *_both(
        "gpt4-borrow", "gap of Detour and Borrow to Clos, GPT4-2T", "§6.3, Fig. 19", around(0.46, 0.2), _SLOW,
        paper=exactly(0.46), unit="points",
    ),
    *_both(
        "gpt4-shortest", "gap of Shortest to Clos, GPT4-2T", "§6.3, Fig. 19", around(0.73, 0.2), _SLOW,
        paper=exactly(0.73), unit="points", borrowed=between(1.3, 2.2), apart=between(1.3, 2.2), reason=_EP,
    ),
    *_both(
        "gpt3-shortest", "gap of Shortest to Clos, GPT3-175B", "§6.3, Fig. 19", between(0, 0.5), _SLOW,
        paper="insensitive", unit="points",
    ),
    Claim(
        name="order",
        text="Borrow no slower than Detour, Detour no slower than Shortest: cases",
        place="UB-Mesh §6.3, Fig. 19",
        kind=Kind.identity,
        unit="%",
        paper=exactly(100),
        holds=exactly(100),
        reason="each may use all paths of the one before, and the model takes the best split of traffic",
        mutation=None,
    ),
)  # fmt: skip


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


BANDWIDTH = (
    *_both(
        "short", "x8 to x16 lanes out of the rack, 8K to 32K", "§6.3, Fig. 20", around(0.44, 0.25), _SLOW,
        paper=exactly(0.44), borrowed=between(2.0, 3.2), apart=between(0.6, 1.1), reason=_MORE,
    ),
    *_both(
        "long", "x16 to x32 lanes out of the rack, 64K to 10M", "§6.3, Fig. 20(b)", around(1.85, 0.5), _SLOW,
        paper=exactly(1.85), apart=between(0.6, 1.2), reason=_MORE,
    ),
    Claim(
        name="best-short", text="most useful lanes of 72 out of the rack, 8K to 32K (uplinks apart)",
        place="UB-Mesh §6.3, Fig. 20", kind=Kind.stated, unit="lanes", paper=exactly(16), holds=exactly(16),
        expected=exactly(8), reason=_BEST, mutation=_MORE_LANES,
    ),
    Claim(
        name="best-long", text="most useful lanes of 72 out of the rack, 64K to 10M (uplinks apart)",
        place="UB-Mesh §6.3, Fig. 20", kind=Kind.stated, unit="lanes", paper=exactly(32), holds=exactly(32),
        expected=exactly(16), reason=_BEST, mutation=_MORE_LANES,
    ),
)  # fmt: skip


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
