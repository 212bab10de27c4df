# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's training performance (§6.2 to §6.4, Figs. 17, 19, 20), by the closed-form model.

The paper gives neither an NPU's speed nor a lane's rate nor what overlaps what. Two readings of what it
leaves open are computed, and each has its own verdict: collectives inside a rack borrow idle uplinks, or they
do not. Both have the same interval; it was declared with first runs of the model in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from harness.files import EXPERIMENTS
from papers.claims import Measured, Progress, Values
from papers.training.study import READINGS as ALL
from papers.training.study import Given, Outcome, load, run

__all__ = ["training_bandwidth", "training_rack", "training_racks"]


READINGS = ("borrowed", "apart")
SPANS = {"short": "8K-32K", "long": "64K-10M"}


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


def training_rack(note: Progress, lane_gbps: float = 100.0) -> Values:
    """Return the figures of the check `training-rack`."""
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


def training_racks(note: Progress, lane_gbps: float = 100.0) -> Values:
    """Return the figures of the check `training-racks`."""
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


def training_bandwidth(note: Progress, lane_gbps: float = 100.0, traded: str = "-traded") -> Values:
    """Return the figures of the check `training-bandwidth`."""
    outcome = _outcome("06_bandwidth", note, lane_gbps, 0.5)
    spans = {name: outcome.study.span(span) for name, span in SPANS.items()}

    def gain(new: str, old: str, span: Sequence[str]) -> Callable[[str], float]:
        return lambda reading: outcome.percent(reading, new, None, span, old) - 100

    def best(span: Sequence[str]) -> int:
        lanes = {4: f"x4{traded}", 8: f"x8{traded}", 16: "x16", 32: f"x32{traded}"}
        return max(lanes, key=lambda count: outcome.percent("apart", lanes[count], None, span))

    gains = {"short": gain("x16", "x8", spans["short"]), "long": gain("x32", "x16", spans["long"])}
    return {**_values(gains), "best-short": best(spans["short"]), "best-long": best(spans["long"])}
