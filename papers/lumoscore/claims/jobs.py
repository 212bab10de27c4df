# SPDX-License-Identifier: Apache-2.0
"""LumosCore's jobs that come and go, at flow level: 1,000 of them on 4,096 accelerators, ten traces."""

from __future__ import annotations

from functools import cache

from papers.claims import Check, Measured, Progress, Values, over_seeds
from papers.claims.declare import at_least, between, changed, scaled, stated
from papers.flow_level.plot import plot_svg
from papers.flow_level.study import SIX, Comparison, Study, run
from papers.flow_level.workload.traces import Workload

__all__ = ["CHECKS", "SEEDS", "run_jobs"]

SEEDS = 10

# From least to most mean completion time in the released logs.
_ORDER = ("ideal", "leaf-centric, tau 2", "leaf-centric, tau 1", "clos")

_LOGS = "LumosCore, released logs of 1,000 jobs on 4,096 GPUs"
_TRACE = (
    "the authors' trace is not public; how far slower runs lengthen queues depends on the trace, so the"
    " median over ten traces has a wide interval"
)
_OTHER = (
    "the authors' clusters, traces and baselines are not public; on 4,096 accelerators with five tries of a"
    " Clos's hash little contention is left to save"
)

_ONE_HASH = changed("a Clos with one hash in place of each fabric", fabric="clos, one hash")

JOBS = (
    stated(
        "tau-2",
        "mean completion time over the ideal fabric's, leaf-centric, two links",
        0.009,
        "%",
        _ONE_HASH,
        place=_LOGS,
        holds=between(0, 1),
    ),
    stated(
        "tau-1",
        "mean completion time over the ideal fabric's, leaf-centric, one link",
        0.4,
        "%",
        scaled(10),
        place=_LOGS,
        holds=between(0, 1),
        expected=between(0.6, 7),
        reason=_TRACE,
    ),
    stated(
        "clos",
        "mean completion time over the ideal fabric's, Clos",
        4.94,
        "%",
        scaled(10),
        place=_LOGS,
        within=2.5,
        expected=between(2.5, 13),
        reason=_TRACE,
    ),
    stated(
        "order",
        "traces with ideal, two links, one link, Clos in this order",
        100,
        "%",
        _ONE_HASH,
        place=_LOGS,
        holds=at_least(80),
    ),
    stated(
        "clos-saved",
        "mean completion time saved against Clos, two links",
        34.1,
        "%",
        _ONE_HASH,
        place="LumosCore, abstract of v3, 16,000 GPUs",
        within=5,
        expected=between(2.5, 12),
        reason=_OTHER,
    ),
    stated(
        "uniform-saved",
        "mean completion time saved against uniform wiring, two links",
        12.6,
        "%",
        _ONE_HASH,
        place="LumosCore, abstract of v7, whose baseline it does not name",
        within=3,
        expected=between(3, 24),
        reason=_TRACE,
    ),
    stated(
        "throughput",
        "throughput of running jobs over uniform wiring, two links",
        39.5,
        "%",
        _ONE_HASH,
        place="LumosCore, abstract of v7: up to, on 128 NPUs",
        within=5,
        expected=between(0.5, 2),
        reason=_OTHER,
    ),
)


@cache
def _compared(study: Study) -> Comparison:
    return run(study)


def run_jobs(note: Progress, seeds: int = SEEDS, fabric: str = "", jobs: int = 1000) -> Values:
    """Mean completion times on five fabrics, a trace for each seed; `fabric` stands for all but the ideal."""
    percent: dict[str, list[float]] = {}
    ordered = 0
    for seed in range(1, seeds + 1):
        note(f"{jobs:,} jobs on {len(SIX)} fabrics, trace {seed}", (seed - 1) / seeds)
        fabrics = ("ideal", fabric) if fabric else SIX
        result = _compared(Study(workload=Workload(jobs=jobs), fabrics=fabrics, seeds=(seed,)))

        def completion(name: str, result: Comparison = result) -> float:
            return result.completion(fabric or name if name != "ideal" else name)

        def slowdown(name: str, result: Comparison = result) -> float:
            return result.slowdown(fabric or name)

        times = [completion(name) for name in _ORDER]
        ordered += times == sorted(times) and len(set(times)) == len(times)
        ideal, two, single, clos = times
        uniform = completion("uniform, tau 2")
        figures = {
            "tau-2": two / ideal - 1,
            "tau-1": single / ideal - 1,
            "clos": clos / ideal - 1,
            "clos-saved": 1 - two / clos,
            "uniform-saved": 1 - two / uniform,
            "throughput": slowdown("uniform, tau 2") / slowdown("leaf-centric, tau 2") - 1,
        }
        for name, value in figures.items():
            percent.setdefault(name, []).append(100 * value)
    return {
        **{
            name: over_seeds(values, f"{min(values):.2f} to {max(values):.2f} over all traces")
            for name, values in percent.items()
        },
        "order": Measured(100 * ordered / seeds, detail=f"{ordered} of {seeds} traces"),
    }


def _picture() -> str:
    return plot_svg(_compared(Study(workload=Workload(), seeds=(1,))))


CHECKS = (
    Check(
        "jobs",
        "lumoscore",
        "1,000 jobs on 4,096 accelerators, at flow level, ten traces",
        JOBS,
        run_jobs,
        long=True,
        picture=_picture,
    ),
)
