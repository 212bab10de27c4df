# SPDX-License-Identifier: Apache-2.0
"""Papers and derivations that a report cites: of its topology's family, its collectives and its bounds."""

from __future__ import annotations

from collections.abc import Iterable

from lab.scenario.schema import Collective, Scenario
from topologies.families.full_mesh import UB_MESH
from topologies.families.hpn.fabrics import HPN
from topologies.families.registry import find

__all__ = ["citations"]

_CRUX = "Crux: GPU-Efficient Communication Scheduling for Deep Learning Training (SIGCOMM 2024)"

_PORTS_BOUND = "what has to leave or reach an NPU, over the rate P of all its links; derived here"

# By the kind of a collective: its algorithm's source and its bound. N members, D bytes each.
_BOUNDS = {
    "allreduce": f"2 (N - 1)/N D/P: {_PORTS_BOUND}",
    "reduce-scatter": f"(N - 1)/N D/P: {_PORTS_BOUND}",
    "all-gather": f"(N - 1)/N D/P: {_PORTS_BOUND}",
    "all-to-all": "what has to leave an NPU or cross the middle of a dimension; derived here",
    "broadcast": f"D/P: {_PORTS_BOUND}",
    "reduce": f"D/P: {_PORTS_BOUND}",
    "p2p": f"D/P: {_PORTS_BOUND}",
    "dispatch": "all bytes sent, over the rate of all links of the members; derived here",
    "combine": "all bytes sent, over the rate of all links of the members; derived here",
    "mixture": "all bytes sent, over the rate of all links of the members; derived here",
}

# By algorithm, where a paper describes it; algorithms of any textbook have none.
_ALGORITHMS = {
    "bidirectional-dimension-order": (
        "half of the array takes X first, half Y first; on 8 x 8 with links of rate B the bound is "
        f"0.140625 D/B. Derived from the 2D full mesh of {UB_MESH}, which does not state it"
    ),
    "rings": f"logical rings on exclusive links, as in {UB_MESH}; the rings themselves are chosen here",
    "bidirectional-rings": (
        f"logical rings on exclusive links, as in {UB_MESH}; here Walecki's Hamiltonian cycles"
    ),
    "partitions": f"a partition for each dimension, with one forwarding hop at most: {UB_MESH}",
    "hierarchical": f"one copy for a board or line and fan-out there: {UB_MESH}",
}


def citations(scenario: Scenario) -> list[str]:
    """Return the sources of a scenario's fabric, collectives, bounds and scheduling, a sentence each."""
    collectives = list(_collectives(scenario))
    kinds = dict.fromkeys(collective.kind for collective in collectives)
    algorithms = dict.fromkeys(collective.algorithm for collective in collectives)
    lines = [f"Topology {scenario.topology.name}: {_family(scenario.topology.name)}"]
    lines += [f"Bound of {kind}: {_BOUNDS[kind]}." for kind in kinds]
    if "ring" in algorithms:
        lines.append(
            "Bound of one ring that keeps to its own links, as shortest paths do: 2 (N - 1)/N D/B, B being "
            "the rate of a link; with idle links borrowed the bound of all links holds. Derived here."
        )
    lines += [f"Algorithm {name}: {_ALGORITHMS[name]}." for name in algorithms if name in _ALGORITHMS]
    if any(variant.transport.connections for variant in scenario.variants):
        lines.append(f"Connections over disjoint paths: {HPN}.")
    if any(variant.control.scheduler != "none" for variant in scenario.variants):
        lines.append(f"Priorities of jobs by communication intensity: {_CRUX}.")
    return lines


def _family(name: str) -> str:
    """Return the source that a family of fabrics declares."""
    source = find(name).source
    if source is None:
        return "its family declares no source."
    stand_in = (
        " The paper gives no lane rate; 100 Gbit/s a lane is a stand-in that public simulators use."
        if source.paper == UB_MESH
        else ""
    )
    return f"{source}.{stand_in}"


def _collectives(scenario: Scenario) -> Iterable[Collective]:
    for variant in scenario.variants:
        for job in variant.every_job:
            yield job.collective
