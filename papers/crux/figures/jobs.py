# SPDX-License-Identifier: Apache-2.0
"""Crux and other schedulers at flow level: a testbed of 96 accelerators, and a trace on 2,080."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from papers.claims import Measured, Progress, Values, over_seeds
from papers.crux.plot import utilisation_svg
from papers.crux.study import BASELINES, Study, run
from papers.crux.testbed import CASES, compared
from papers.crux.workloads import ProductionTrace


def measure_testbed(
    note: Progress, seconds: float = 30.0, draws: int = 10, paths_only: str = "fair", wider: int = 1
) -> Values:
    """Measure Crux's gain in work by a fixed time on the paper's mixes, and the share gained by paths."""
    result: dict[str, Measured | float] = {}
    for done, name in enumerate(CASES):
        note(name, done / len(CASES))
        sides = compared(name, ("none", paths_only, "crux"), seconds=seconds, draws=draws, wider=wider)
        none, crux, alone = sides["none"], sides["crux"], sides["alone"]
        gains = [100 * (own / other - 1) for own, other in zip(crux.works, none.works, strict=True)]
        shorter = crux.iterations[0] / none.iterations[0] - 1
        words = (
            f"{100 * none.utilisation:.1f} to {100 * crux.utilisation:.1f} %, "
            f"alone {100 * alone.utilisation:.1f} %; GPT's iteration {100 * shorter:+.0f} %"
        )
        result[f"gain-{name}"] = over_seeds(gains, words)
        gained = crux.utilisation - none.utilisation
        by_paths = sides[paths_only].utilisation - none.utilisation
        result[f"paths-{name}"] = 100 * by_paths / gained if gained else 0.0
    return result


_SEEDS = range(1, 11)

# Fabric, connections a pair of accelerators, and placement, by case.
_TRACES = {
    "tiers": ("three tiers", 1, "first-fit"),
    "connections": ("three tiers", 4, "first-fit"),
    "clos": ("clos", 1, "random"),
}


def _study(case: str, days: float, seed: int) -> Study:
    fabric, connections, placement = _TRACES[case]
    return Study(ProductionTrace(days=days), fabric, connections, seed=seed, placement=placement)


def measure_trace(
    note: Progress,
    keys: Sequence[str] = ("tiers", "clos"),
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
        gains: dict[str, list[float]] = {name: [] for name in (*BASELINES, "paths")}
        itself: dict[str, list[float]] = {name: [] for name in BASELINES}
        for done, seed in enumerate(seeds):
            note(f"{key}, seed {seed}", (number + done / len(seeds)) / len(keys))
            outcome = run(_study(key, days, seed))
            for name in BASELINES:
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


def trace_picture() -> str:
    """Return a chart of utilisation on three hours of the trace, on both fabrics, as SVG."""
    return utilisation_svg([run(_study(case, 0.125, 1)) for case in ("tiers", "clos")])


def two_weeks_picture() -> str:
    """Return a chart of utilisation on two weeks of the trace, on three tiers, as SVG."""
    return utilisation_svg([run(_study("tiers", 14.0, 2))])
