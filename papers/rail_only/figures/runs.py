# SPDX-License-Identifier: Apache-2.0
"""Rail-only's collectives, measured packet by packet on the embedded testbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed
from papers.rail_only import collectives as equations
from papers.rail_only.collectives import Grid, Rates, alltoall_rail_only, alltoall_rail_optimised, slowdown

if TYPE_CHECKING:
    Equation = Callable[[Grid, float, Rates], float]

_ELEMENT_BYTES = 4

_GATHERS = ("all-gather", "reduce-scatter", "allreduce")


def _us(seen: Observation) -> float:
    """Return the time of a run in microseconds; nan if any data is wrong."""
    return seen.completion_ps / 10**6 if seen.correct_nodes == seen.nodes else float("nan")


def _of(ready: Prepared) -> tuple[Grid, Rates]:
    """Return the inputs of the equations, from the fabric."""
    fabric, gpu = ready.fabric, ready.members[0]
    x, y = fabric.dims
    links = [link for port in fabric.node(gpu).ports if (link := fabric.link_at(gpu, port.number))]
    inside = sum(link.rate_bps for link in links if link.dimension is not None)
    return Grid(x, y), Rates(float(inside), float(sum(link.rate_bps for link in links) - inside))


def _equation_us(ready: Prepared, equation: Equation) -> float:
    """Return the time by an equation in microseconds, for the data of the run's collective."""
    grid, rates = _of(ready)
    collective = ready.variant.collective
    data = collective.data_bytes / (len(ready.members) if collective.kind == "all-to-all" else 1)
    return equation(grid, data, rates) * 10**6


def _off(ours: float, theirs: float) -> str:
    return f"{100 * (ours / theirs - 1):+.1f} %"


def alltoall(
    note: Progress, domains: int, sizes: Sequence[int], overlap: bool = False, swapped: bool = False
) -> Values:
    """Compare All-to-All's slowdown without spines with the paper's equations; count frames across rails.

    Args:
        domains: number of domains of eight GPUs.
        sizes: KiB of the message of each pair.
        overlap: a slice does not wait for other slices between phases.
        swapped: count the frames across rails on rail-optimised instead of rail-only.
    """
    result: dict[str, Measured | float] = {}
    fixed, crossed = [], 0.0
    for index, kib in enumerate(sizes):

        def part(what: str, share: float, at: int = index) -> None:
            note(what, (at + share) / len(sizes))

        change: dict[str, Any] = {"elements": kib * 1024 * 8 * domains // _ELEMENT_BYTES, "overlap": overlap}
        alone, item = observed("11_rails/rail-only.yaml", part, {"steps"}, domains, change)["steps"]
        joined, other = observed("11_rails/rail-optimised.yaml", part, {"spines"}, domains, change)["spines"]
        own, theirs = _us(item), _us(other)
        grid, rates = _of(alone)
        expected = 1 + slowdown(grid, rates)
        equations = _equation_us(alone, alltoall_rail_only), _equation_us(joined, alltoall_rail_optimised)
        result[f"ratio-{kib}"] = Measured(
            own / theirs / expected,
            detail=f"{own / theirs:.4f} of {expected:.4f}; rail-only {own:.1f} us, {_off(own, equations[0])} "
            f"of its equation, rail-optimised {theirs:.1f} us, {_off(theirs, equations[1])}",
        )
        fixed.append((kib, theirs))
        crossed += float((other if swapped else item).cross_rail_frames or 0)
    result["crossed"] = crossed
    if len(fixed) > 1:
        (small, least), *_, (large, most) = fixed
        result["fixed"] = (least * large - most * small) / (large - small)
    return result


def gathers(note: Progress, overlap: bool = False) -> Values:
    """Run AllGather, ReduceScatter and AllReduce; divide each time by the time of the paper's equation.

    Also return the percentage of bytes sent through NICs. With `overlap`, a slice does not wait for other
    slices between phases.
    """
    by_name = {
        "all-gather": equations.allgather,
        "reduce-scatter": equations.reduce_scatter,
        "allreduce": equations.allreduce,
    }
    runs = observed("11_rails/rail-only.yaml", note, _GATHERS, collective={"overlap": overlap})
    result: dict[str, Measured | float] = {}
    for name, (ready, seen) in runs.items():
        expected = _equation_us(ready, by_name[name])
        result[name] = Measured(_us(seen) / expected, detail=f"{_us(seen):.1f} us of {expected:.1f} us")
    return {**result, "nic-bytes": 100 * _nic_share(*runs["allreduce"])}


def _nic_share(ready: Prepared, seen: Observation) -> float:
    """Return the share of the bytes sent by GPUs that left through NICs."""
    inside = nic = 0
    gpus = set(ready.members)
    for link in ready.fabric.links:
        for end, carried in zip((link.a, link.b), seen.link_bytes[link.name], strict=True):
            if end.node in gpus:
                inside += carried if link.dimension is not None else 0
                nic += carried if link.dimension is None else 0
    return nic / (inside + nic)


_SLICES = ("slices", "all-gather-slices")


def slices(note: Progress, overlap: bool = True) -> Values:
    """Measure collectives' times, relative to bounds, if slices change phases without waiting for others."""
    runs = observed("11_rails/rail-only.yaml", note, _SLICES, collective={"overlap": overlap})
    return {
        name: Measured(_us(seen) / (ready.bound_ps / 10**6), detail=f"{_us(seen):.1f} us")
        for name, (ready, seen) in runs.items()
    }
