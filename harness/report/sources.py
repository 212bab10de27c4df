# SPDX-License-Identifier: Apache-2.0
"""Papers and derivations cited by a report for its topology, collectives and bounds."""

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
    """Return a sentence for each source: of a scenario's topology, collectives, bounds and scheduling."""
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
            "Bound of a ring on shortest paths, which uses only its own links: 2 (N - 1)/N D/B, where B is "
            "the rate of a link; if idle links are borrowed, the bound of all links holds. Derived here."
        )
    lines += [f"Algorithm {known.name}: {known.source}." for known in algorithms.values() if known.source]
    if any(variant.transport.connections for variant in scenario.variants):
        lines.append(f"Connections over disjoint paths: {HPN}.")
    if any(variant.control.scheduler != "none" for variant in scenario.variants):
        lines.append(f"Priorities of jobs by communication intensity: {_CRUX}.")
    return lines


def _family(name: str) -> str:
    """Return the declared source of a family of topologies, as a sentence."""
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
