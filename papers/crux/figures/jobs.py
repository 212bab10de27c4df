# SPDX-License-Identifier: Apache-2.0
"""Crux and other schedulers at flow level: a testbed of 96 accelerators, and a trace on 2,080."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import median

from papers.claims import Measured, Progress, Values, over_seeds
from papers.crux.plot import utilisation_svg
from papers.crux.study import Comparison, Study, run
from papers.crux.testbed import CASES, compared
from papers.crux.workloads import ProductionTrace

# Case -> its part of a figure's name.
_TESTBED = {
    "GPT on 32, 2 BERTs on 8": "two",
    "GPT on 32, 4 BERTs on 8": "four",
    "GPT on 32, 6 BERTs on 8": "six",
    "GPT on 48, 2 BERTs on 16, 2 ResNets on 8": "mix",
}


def measure_testbed(
    note: Progress, seconds: float = 30.0, draws: int = 10, paths_only: str = "fair", wider: int = 1
) -> Values:
    """Measure Crux's gain in work by a fixed time on the paper's mixes, and the share gained by paths."""
    result: dict[str, Measured | float] = {}
    for done, name in enumerate(CASES):
        note(name, done / len(CASES))
        key = _TESTBED[name]
        sides = compared(name, ("none", paths_only, "crux"), seconds=seconds, draws=draws, wider=wider)
        none, crux, alone = sides["none"], sides["crux"], sides["alone"]
        gains = [100 * (own / other - 1) for own, other in zip(crux.works, none.works, strict=True)]
        shorter = crux.iterations[0] / none.iterations[0] - 1
        words = (
            f"{100 * none.utilisation:.1f} to {100 * crux.utilisation:.1f} %, "
            f"alone {100 * alone.utilisation:.1f} %; GPT's iteration {100 * shorter:+.0f} %"
        )
        result[f"gain-{key}"] = over_seeds(gains, words)
        gained = crux.utilisation - none.utilisation
        by_paths = sides[paths_only].utilisation - none.utilisation
        result[f"paths-{key}"] = 100 * by_paths / gained if gained else 0.0
    return result


_SEEDS = range(1, 11)
_BASELINES = ("shortest-first", "topology-aware", "interleave")
_SCHEDULERS = ("none", "fair", *_BASELINES, "crux")

# Cases of `_studies` with one connection a pair of accelerators: three tiers; two tiers, random placement.
_TRACES = ("tiers", "clos")


@lru_cache(maxsize=64)
def _compared(study: Study) -> Comparison:
    return run(study)


def _studies(key: str, days: float, seeds: Sequence[int]) -> Sequence[Study]:
    trace = ProductionTrace(days=days)
    fabric, connections, placement = {
        "tiers": ("three tiers", 1, "first-fit"),
        "connections": ("three tiers", 4, "first-fit"),
        "clos": ("clos", 1, "random"),
    }[key]
    return [Study(trace, fabric, connections, _SCHEDULERS, seed=seed, placement=placement) for seed in seeds]


def measure_trace(
    note: Progress,
    keys: Sequence[str] = _TRACES,
    days: float = 0.125,
    seeds: Sequence[int] = _SEEDS,
    own: str = "crux",
) -> Values:
    """Measure the gain of the scheduler `own` over the baselines, on traces of `days` for several `seeds`.

    Each scheduler gets the same jobs on the same accelerators. A job holds its accelerators for a fixed time,
    so utilisation is the work done in that time.
    """
    result: dict[str, Measured | float] = {}
    for number, key in enumerate(keys):
        gains: dict[str, list[float]] = {name: [] for name in (*_BASELINES, "paths")}
        itself: dict[str, list[float]] = {name: [] for name in _BASELINES}
        for done, study in enumerate(_studies(key, days, seeds)):
            note(f"{key}, seed {study.seed}", (number + done / len(seeds)) / len(keys))
            outcome = _compared(study)
            for name in _BASELINES:
                gains[name].append(100 * outcome.gain(own, name))
                itself[name].append(100 * outcome.gain(name, "none"))
            gained = outcome.utilisation(own) - outcome.utilisation("none")
            paths = outcome.utilisation("fair") - outcome.utilisation("none")
            gains["paths"].append(100 * paths / gained if gained else 0.0)
        for name, values in gains.items():
            words = f"{name} over none {median(itself[name]):+.1f} %" if name in itself else ""
            result[f"{key}-{name}"] = (
                over_seeds(values, words) if len(values) >= len(_SEEDS) else Measured(values[0], detail=words)
            )
    return result


def _picture(keys: Sequence[str], days: float, seed: int = 1) -> str:
    return utilisation_svg([_compared(_studies(key, days, (seed,))[0]) for key in keys])


def trace_picture() -> str:
    """Return a chart of utilisation on three hours of the trace, on both fabrics, as SVG."""
    return _picture(("tiers", "clos"), 0.125)


def two_weeks_picture() -> str:
    """Return a chart of utilisation on two weeks of the trace, on three tiers, as SVG."""
    return _picture(("tiers",), 14.0, 2)
