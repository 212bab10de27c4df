# SPDX-License-Identifier: Apache-2.0
"""Rail-only's collectives, measured: each is run packet by packet on the embedded testbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck, FindingVerdict
from papers.claims.runs import Runs, observed

if TYPE_CHECKING:
    from lab.run.observation import Observation
    from lab.run.prepare import Prepared
    from papers.rail_only.collectives import Grid, Rates

    Equation = Callable[[Grid, float, Rates], float]

__all__ = ["CHECKS", "alltoall"]

_EQUATIONS = "Rail-only, equations of collectives"
_DERIVED = "derived here"

# How far a run may be from its equation, which knows of no headers and no waiting.
_ALLTOALL_WITHIN = 0.03
_GATHER_WITHIN = 0.05
_SHARE_WITHIN = 0.005

_GATHERS = {"all-gather": "AllGather", "reduce-scatter": "ReduceScatter", "allreduce": "AllReduce"}


def _right(runs: Runs, *names: str) -> bool:
    return all(seen.correct_nodes == seen.nodes for _, seen in (runs[name] for name in names))


def _verdict(holds: bool, runs: Runs, *names: str) -> FindingVerdict:
    return "holds" if holds and _right(runs, *names) else "differs"


def _data(runs: Runs, *names: str) -> str:
    wrong = [f"; wrong data in {name}: {runs[name][1].first_wrong}" for name in names]
    return "".join(words for name, words in zip(names, wrong, strict=True) if not _right(runs, name))


def _us(seen: Observation) -> float:
    return seen.completion_ps / 10**6


def _of(ready: Prepared) -> tuple[Grid, Rates]:
    """Return the inputs of the equations, read off the fabric."""
    from papers.rail_only.collectives import Grid, Rates

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


def alltoall(domains: int, note: Progress) -> Sequence[Finding]:
    """Measure how much longer All-to-All takes without spines."""
    from papers.rail_only.collectives import alltoall_rail_only, alltoall_rail_optimised, slowdown

    runs = {
        **observed("11_rails/rail-only.yaml", note, {"steps"}, domains),
        **observed("11_rails/rail-optimised.yaml", note, {"spines"}, domains),
    }
    (alone, item), (joined, other) = runs["steps"], runs["spines"]
    grid, rates = _of(alone)
    expected, ours = 1 + slowdown(grid, rates), _us(item) / _us(other)
    single = [
        f"{name} {_us(seen):.1f} us, {_off(_us(seen), _equation_us(ready, equation))} of its own equation"
        for name, ready, seen, equation in (
            ("rail-only", alone, item, alltoall_rail_only),
            ("rail-optimised", joined, other, alltoall_rail_optimised),
        )
    ]
    return (
        Finding(
            f"All-to-All, {grid.x} GPUs of {grid.y} domains, rail-only to rail-optimised: within 3 %",
            _EQUATIONS,
            f"{expected:.4f}",
            f"{ours:.4f}, {_off(ours, expected)}{_data(runs, *runs)}",
            _verdict(abs(ours / expected - 1) <= _ALLTOALL_WITHIN, runs, *runs),
            f"{rates.hb / 1e9:,.0f} and {rates.nic / 1e9:,.0f} Gbit/s a GPU; {'; '.join(single)}",
        ),
        Finding(
            f"All-to-All, {grid.x} GPUs of {grid.y} domains, rail-only: frames that left their rail",
            "Rail-only, routing",
            "0",
            f"{item.cross_rail_frames}; rail-optimised {other.cross_rail_frames:,}",
            "holds" if item.cross_rail_frames == 0 and other.cross_rail_frames else "differs",
        ),
    )


def _gathers(note: Progress) -> Sequence[Finding]:
    from papers.rail_only import collectives as equations

    by_name = {
        "all-gather": equations.allgather,
        "reduce-scatter": equations.reduce_scatter,
        "allreduce": equations.allreduce,
    }
    runs = observed("11_rails/rail-only.yaml", note, _GATHERS)
    findings = []
    for name, (ready, seen) in runs.items():
        grid, _ = _of(ready)
        expected = _equation_us(ready, by_name[name])
        findings.append(
            Finding(
                f"{_GATHERS[name]} over {grid.x} GPUs of {grid.y} domains: within 5 %",
                _EQUATIONS,
                f"{expected:.1f} us",
                f"{_us(seen):.1f} us, {_off(_us(seen), expected)}{_data(runs, name)}",
                _verdict(abs(_us(seen) / expected - 1) <= _GATHER_WITHIN, runs, name),
            )
        )
    ready, seen = runs["allreduce"]
    grid, _ = _of(ready)
    expected, ours = equations.nic_share(grid), _nic_share(ready, seen)
    findings.append(
        Finding(
            "bytes of that AllReduce that NICs send: within 0.5 points",
            _EQUATIONS,
            f"{100 * expected:.2f} %",
            f"{100 * ours:.2f} %, headers and acknowledgements included",
            _verdict(abs(ours - expected) <= _SHARE_WITHIN, runs, "allreduce"),
        )
    )
    return findings


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


def _slices(note: Progress) -> Sequence[Finding]:
    """Measure the two phases when a slice does not wait for other slices."""
    from papers.rail_only.collectives import allgather, alltoall_rail_only

    names = {"slices": "All-to-All", "all-gather-slices": "AllGather"}
    runs = observed("11_rails/rail-only.yaml", note, names)
    findings = []
    for (name, what), equation in zip(names.items(), (alltoall_rail_only, allgather), strict=True):
        ready, seen = runs[name]
        in_turn, bound = _equation_us(ready, equation), ready.bound_ps / 10**6
        findings.append(
            Finding(
                f"{what}, rail-only, slice by slice: sooner than the phases in turn, no sooner than NICs can",
                _DERIVED,
                f"{bound:.1f} to {in_turn:.1f} us",
                f"{_us(seen):.1f} us{_data(runs, name)}",
                _verdict(bound <= _us(seen) < in_turn, runs, name),
                "what came by the rail goes on in its domain at once; in the paper phases take turns",
            )
        )
    return findings


CHECKS = (
    FindingsCheck(
        "all-to-all", "rail-only", "All-to-All on the testbed, 8 GPUs of 4 domains", partial(alltoall, 4)
    ),
    FindingsCheck(
        "all-to-all-16",
        "rail-only",
        "All-to-All on the testbed, 8 GPUs of 16 domains",
        partial(alltoall, 16),
        long=True,
    ),
    FindingsCheck("gathers", "rail-only", "AllGather, ReduceScatter and AllReduce on the testbed", _gathers),
    FindingsCheck("slices", "rail-only", "phases that overlap", _slices),
)
