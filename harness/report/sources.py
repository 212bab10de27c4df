# SPDX-License-Identifier: Apache-2.0
"""Papers and derivations that a report cites: of its topology's family, its collectives and its bounds."""

from __future__ import annotations

from collections.abc import Iterable

from emulation.traffic.collectives.registry import find as find_collective
from harness.scenario.schema import Collective, Scenario
from topologies.families.full_mesh import UB_MESH
from topologies.families.hpn.fabrics import HPN
from topologies.families.registry import find

__all__ = ["citations"]

_CRUX = "Crux: GPU-Efficient Communication Scheduling for Deep Learning Training (SIGCOMM 2024)"


def citations(scenario: Scenario) -> list[str]:
    """Return the sources of a scenario's fabric, collectives, bounds and scheduling, a sentence each."""
    collectives = list(_collectives(scenario))
    kinds = {collective.kind: find_collective(collective.kind) for collective in collectives}
    algorithms = {
        collective.algorithm: kinds[collective.kind].algorithm(collective.algorithm)
        for collective in collectives
    }
    topology = scenario.topology
    origin = _family(topology.name) if topology.is_family else "a fabric of the user."
    lines = [f"Topology {topology.name}: {origin}"]
    lines += [f"Bound of {kind.name}: {kind.bound_source}." for kind in kinds.values()]
    if "ring" in algorithms:
        lines.append(
            "Bound of one ring that keeps to its own links, as shortest paths do: 2 (N - 1)/N D/B, B being "
            "the rate of a link; with idle links borrowed the bound of all links holds. Derived here."
        )
    lines += [f"Algorithm {known.name}: {known.source}." for known in algorithms.values() if known.source]
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
