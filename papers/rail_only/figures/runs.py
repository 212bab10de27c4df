# SPDX-License-Identifier: Apache-2.0
"""Rail-only's collectives, measured packet by packet on the embedded testbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed, right
from papers.rail_only import collectives
from papers.rail_only.collectives import A100, Grid

_ELEMENT_BYTES = 4

# Experiment 11: GPUs; bytes of an AllGather's array; bytes from a GPU to each other GPU in an All-to-All.
_GRID, _GATHERED, _PAIR = Grid(8, 4), _ELEMENT_BYTES * 4194304, _ELEMENT_BYTES * 2097152 // 32


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
    grid = Grid(8, domains)
    expected = 1 + collectives.slowdown(grid, A100)
    result: dict[str, Measured | float] = {}
    fixed, crossed = [], 0
    for index, kib in enumerate(sizes):

        def part(what: str, share: float, at: int = index) -> None:
            note(what, (at + share) / len(sizes))

        change = {"elements": kib * 1024 * 8 * domains // _ELEMENT_BYTES, "overlap": overlap}
        alone = right(*observed("11_rails/rail-only.yaml", part, {"steps"}, domains, change)["steps"])
        joined = right(*observed("11_rails/rail-optimised.yaml", part, {"spines"}, domains, change)["spines"])
        own, theirs = alone.completion_ps / 10**6, joined.completion_ps / 10**6
        own_equation = 10**6 * collectives.alltoall_rail_only(grid, 1024 * kib, A100)
        their_equation = 10**6 * collectives.alltoall_rail_optimised(grid, 1024 * kib, A100)
        result[f"ratio-{kib}"] = Measured(
            own / theirs / expected,
            detail=f"{own / theirs:.4f} of {expected:.4f}; rail-only {own:.1f} us, {_off(own, own_equation)} "
            f"of its equation, rail-optimised {theirs:.1f} us, {_off(theirs, their_equation)}",
        )
        fixed.append((kib, theirs))
        crossed += (joined if swapped else alone).cross_rail_frames or 0
    result["crossed"] = crossed
    if len(fixed) > 1:
        (small, least), *_, (large, most) = fixed
        result["fixed"] = (least * large - most * small) / (large - small)
    return result


def over_equations(result: Mapping[str, Any]) -> Values:
    """Return the times of experiment 11 over the paper's equations, or of other variants over their bounds.

    `result` is the content of result.json.
    """
    seconds = {
        "all-gather": collectives.allgather(_GRID, _GATHERED, A100),
        "reduce-scatter": collectives.reduce_scatter(_GRID, _GATHERED, A100),
        "allreduce": collectives.allreduce(_GRID, _GATHERED, A100),
        "steps": collectives.alltoall_rail_only(_GRID, _PAIR, A100),
        "spines": collectives.alltoall_rail_optimised(_GRID, _PAIR, A100),
    }
    figures = {}
    for metric, value in result["metrics"].items():
        name, _, last = metric.partition(".")
        if last == "completion_us":
            least = 10**6 * seconds[name] if name in seconds else result["metrics"][f"{name}.bound_us"]
            figures[name] = Measured(value / least, detail=f"{value:.1f} us of {least:.1f} us")
    return figures


def nic_bytes(note: Progress) -> float:
    """Return the share of the bytes of experiment 11's AllReduce that left GPUs through NICs, in percent."""
    ready, seen = observed("11_rails/rail-only.yaml", note, {"allreduce"})["allreduce"]
    inside = nic = 0
    for link in ready.fabric.links:
        for end, carried in zip((link.a, link.b), right(ready, seen).link_bytes[link.name], strict=True):
            if end.node in ready.members:
                inside += carried if link.dimension is not None else 0
                nic += carried if link.dimension is None else 0
    return 100 * nic / (inside + nic)
