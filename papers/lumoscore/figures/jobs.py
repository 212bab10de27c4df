# SPDX-License-Identifier: Apache-2.0
"""Traces of jobs on LumosCore, at flow level: 1,000 jobs on 4,096 accelerators, ten traces."""

from __future__ import annotations

from functools import cache

from papers.claims import Measured, Progress, Values, over_seeds
from papers.flow_level.plot import plot_svg
from papers.flow_level.study import SIX, Comparison, Study, run
from papers.flow_level.workload.traces import Workload

SEEDS = 10

# Fabrics by growing mean completion time in the released logs.
_ORDER = ("ideal", "leaf-centric, tau 2", "leaf-centric, tau 1", "clos")


@cache
def _compared(study: Study) -> Comparison:
    return run(study)


def run_jobs(note: Progress, seeds: int = SEEDS, fabric: str = "", jobs: int = 1000) -> Values:
    """Measure mean completion times on all fabrics; a trace for each seed.

    Args:
        seeds: number of traces.
        fabric: fabric that replaces every fabric but the ideal; empty: none.
        jobs: jobs of a trace.
    """
    percent: dict[str, list[float]] = {}
    ordered = 0
    for seed in range(1, seeds + 1):
        note(f"{jobs:,} jobs on {len(SIX)} fabrics, trace {seed}", (seed - 1) / seeds)
        fabrics = ("ideal", fabric) if fabric else SIX
        result = _compared(Study(workload=Workload(jobs=jobs), fabrics=fabrics, seeds=(seed,)))

        times = {name: result.mean(name if name == "ideal" else fabric or name, "completion") for name in SIX}
        slowdowns = {name: result.mean(fabric or name, "slowdown") for name in SIX}
        in_order = [times[name] for name in _ORDER]
        ordered += in_order == sorted(set(in_order))
        ideal, two, single, clos = in_order
        uniform = times["uniform, tau 2"]
        figures = {
            "tau-2": two / ideal - 1,
            "tau-1": single / ideal - 1,
            "clos": clos / ideal - 1,
            "clos-saved": 1 - two / clos,
            "uniform-saved": 1 - two / uniform,
            "throughput": slowdowns["uniform, tau 2"] / slowdowns["leaf-centric, tau 2"] - 1,
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


def picture() -> str:
    """Return the chart of completion times on the first trace as SVG."""
    return plot_svg(_compared(Study(workload=Workload(), seeds=(1,))))
