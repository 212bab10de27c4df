# SPDX-License-Identifier: Apache-2.0
"""Rail-only's collectives, measured: each is run packet by packet on the embedded testbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from papers.claims import Check, Claim, Measured, Progress, Values
from papers.claims.declare import between, changed, derived, scaled, stated
from papers.claims.runs import observed
from papers.rail_only import collectives as equations
from papers.rail_only.collectives import Grid, Rates, alltoall_rail_only, alltoall_rail_optimised, slowdown

if TYPE_CHECKING:
    Equation = Callable[[Grid, float, Rates], float]

__all__ = ["CHECKS", "alltoall"]

_EQUATIONS = "Rail-only, section IV-B, equations 2 and 3"
_GATHER = "Rail-only, section III-B, equation 1"
_ELEMENT_BYTES = 4
_OVERLAP = changed("a slice does not wait for other slices", overlap=True)

_GATHERS = {"all-gather": "AllGather", "reduce-scatter": "ReduceScatter", "allreduce": "AllReduce"}

_START = (
    "equations know no start and no end: rail-optimised takes 5 to 6 us more whatever it sends, of which "
    "1.0 us are cables to the spine and back, the rest store-and-forward of frames of 8 KiB on four links, "
    "and their collisions at a NIC; rail-only takes 1 us more; the ratio falls as messages become smaller"
)


def _us(seen: Observation) -> float:
    """Return the time of a run; not a number if any data is wrong."""
    return seen.completion_ps / 10**6 if seen.correct_nodes == seen.nodes else float("nan")


def _of(ready: Prepared) -> tuple[Grid, Rates]:
    """Return the inputs of the equations, read off the fabric."""
    fabric, gpu = ready.fabric, ready.members[0]
    x, y = fabric.dims
    links = [link for port in fabric.node(gpu).ports if (link := fabric.link_at(gpu, port.number))]
    inside = sum(link.rate_bps for link in links if link.dimension is not None)
    return Grid(x, y), Rates(float(inside), float(sum(link.rate_bps for link in links) - inside))


def _equation_us(ready: Prepared, equation: Equation) -> float:
    """Return the equation's time; D is the array, or for All-to-All a GPU's part for each other GPU."""
    grid, rates = _of(ready)
    collective = ready.variant.collective
    data = collective.data_bytes / (len(ready.members) if collective.kind == "all-to-all" else 1)
    return equation(grid, data, rates) * 10**6


def _off(ours: float, theirs: float) -> str:
    return f"{100 * (ours / theirs - 1):+.1f} %"


def _ratio(kib: int, domains: int, expected: tuple[float, float] | None = None) -> Claim:
    return derived(
        f"ratio-{kib}",
        f"All-to-All of 8 GPUs in each of {domains} domains, {kib} KiB a pair: rail-only to "
        "rail-optimised, measured over the equations' ratio",
        between(0.97, 1.03),
        "x",
        _OVERLAP,
        place=_EQUATIONS,
        expected=between(*expected) if expected else None,
        reason=_START if expected else "",
    )


_CROSSED = stated(
    "crossed",
    "frames of rail-only's All-to-All that left their rail",
    0,
    "frames",
    changed("rail-optimised in its place", swapped=True),
    place="Rail-only, section IV-B",
)
_FIXED = derived(
    "fixed",
    "rail-optimised: time of a run that does not depend on the message, from two sizes",
    between(3, 7),
    "us",
    scaled(3),
    place="derived here: cables, store-and-forward, collisions at a NIC",
    reason=_START,
)


def alltoall(
    domains: int, sizes: Sequence[int], note: Progress, overlap: bool = False, swapped: bool = False
) -> Values:
    """Measure how much longer All-to-All takes without spines, for messages of so many KiB a pair."""
    result: dict[str, Measured | float] = {}
    fixed, crossed = [], 0.0
    for place, kib in enumerate(sizes):

        def part(what: str, share: float, at: int = place) -> None:
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


_GATHER_CLAIMS = (
    *(
        derived(
            name,
            f"{title} of 16 MiB over 8 GPUs of 4 domains, phases in turn: measured over the equation",
            between(1.0, 1.05),
            "x",
            _OVERLAP,
            place=_GATHER,
        )
        for name, title in _GATHERS.items()
    ),
    derived(
        "nic-bytes",
        "bytes of that AllReduce that NICs send, headers and acknowledgements included",
        9.68,
        "%",
        scaled(1.1),
        place="derived here from the phases of equation 1: 9.68 %",
        within=0.5,
    ),
)


def _measure_gathers(note: Progress, overlap: bool = False) -> Values:
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
    """Return the share of bytes sent by GPUs that used links to leaves."""
    inside = nic = 0
    gpus = set(ready.members)
    for link in ready.fabric.links:
        for end, carried in zip((link.a, link.b), seen.link_bytes[link.name], strict=True):
            if end.node in gpus:
                inside += carried if link.dimension is not None else 0
                nic += carried if link.dimension is None else 0
    return nic / (inside + nic)


_SLICES = {"slices": ("All-to-All", 1.097), "all-gather-slices": ("AllGather", 1.778)}

_SLICE_CLAIMS = tuple(
    derived(
        name,
        f"{title} on rail-only, a slice not waiting for others: time over what NICs need at least",
        between(1.0, 1.05),
        "x",
        changed("phases in turn", overlap=False),
        place=f"derived here; phases in turn, as in the paper, take {in_turn:g} times as long",
    )
    for name, (title, in_turn) in _SLICES.items()
)


def _measure_slices(note: Progress, overlap: bool = True) -> Values:
    """Measure the two phases when a slice does not wait for other slices."""
    runs = observed("11_rails/rail-only.yaml", note, _SLICES, collective={"overlap": overlap})
    return {
        name: Measured(_us(seen) / (ready.bound_ps / 10**6), detail=f"{_us(seen):.1f} us")
        for name, (ready, seen) in runs.items()
    }


CHECKS = (
    Check(
        "all-to-all",
        "rail-only",
        "All-to-All on the testbed, 8 GPUs of 4 domains",
        (_ratio(64, 4, (0.92, 0.945)), _ratio(256, 4), _FIXED, _CROSSED),
        partial(alltoall, 4, (64, 256)),
    ),
    Check(
        "all-to-all-16",
        "rail-only",
        "All-to-All on the testbed, 8 GPUs of 16 domains",
        (_ratio(64, 16), _CROSSED),
        partial(alltoall, 16, (64,)),
        long=True,
    ),
    Check(
        "gathers",
        "rail-only",
        "AllGather, ReduceScatter and AllReduce on the testbed",
        _GATHER_CLAIMS,
        _measure_gathers,
    ),
    Check("slices", "rail-only", "phases that overlap", _SLICE_CLAIMS, _measure_slices),
)
