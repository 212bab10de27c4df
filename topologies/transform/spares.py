# SPDX-License-Identifier: Apache-2.0
"""Spares of a fabric, the replacement of failed nodes, and cut-off endpoints.

A rack of UB-Mesh has a spare NPU (64+1). A domain of GPUs may have idle GPUs, or be idle as a whole. An
optical switch may connect a GPU to another rail switch (Rail-only, faults).
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, final

from topologies.errors import TopologyError
from topologies.model import HOST_PORT, Fabric, Node
from topologies.model.computed_once import computed_once
from topologies.model.places import nic_ports
from topologies.transform.circuits import with_maps

__all__ = [
    "SIDES",
    "Replacement",
    "Side",
    "cut_from",
    "dark",
    "has_spares",
    "idle_switches",
    "replaced",
    "spares_for",
    "standbys",
]

Side = Literal["domain", "network"]
"""Side of an endpoint with a NIC; the endpoint needs links on both sides."""

SIDES: Mapping[Side, str] = {"network": "the network between domains", "domain": "the rest of the domain"}


@final
@dataclass(frozen=True, slots=True)
class Replacement:
    """Replacement of failed nodes by spares.

    `places`: name of the spare, by name of the failed node that the spare replaces.
    `circuits`: new crossconnect map of each optical switch that changes, complete.
    """

    places: Mapping[str, str]
    circuits: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def standbys(fabric: Fabric) -> tuple[str, ...]:
    """Return all spare endpoints."""
    return tuple(node.name for node in fabric.nodes if node.kind.spare)


def idle_switches(fabric: Fabric) -> tuple[str, ...]:
    """Return the switches without links; only fibres to optical switches can connect them."""
    return tuple(node.name for node in fabric.switches if not fabric.neighbours(node.name))


def has_spares(fabric: Fabric) -> bool:
    """Return whether the fabric has a spare endpoint or an idle switch."""
    return bool(standbys(fabric) or idle_switches(fabric))


def spares_for(fabric: Fabric, name: str) -> tuple[str, ...]:
    """Return the spares of a node's rack, or the idle GPUs of its domain, in the order of the fabric."""
    node = fabric.node(name)
    if not nic_ports(node):
        rack = node.coordinates[2:]
        return tuple(spare for spare in standbys(fabric) if fabric.node(spare).coordinates[2:] == rack)
    ranks, domain = _ranks(fabric), node.coordinates[1:]
    candidates = (fabric.node(spare) for spare in standbys(fabric))
    return tuple(
        candidate.name
        for candidate in candidates
        if candidate.coordinates[1:] == domain and candidate.coordinates[0] not in ranks
    )


def replaced(fabric: Fabric, replacement: Replacement) -> Fabric:
    """Return the fabric after a replacement: addresses exchanged, circuits changed.

    Senders to an address notice nothing; `Node.coordinates` are unchanged. In UB-Mesh a spare takes over the
    role of the failed NPU; the takeover of the address is our derivation.

    TopologyError unless each pair is two different nodes of one tier, and no node is in two pairs.
    """
    exchanged: dict[str, int] = {}
    for failed, spare in replacement.places.items():
        replaced_node, spare_node = fabric.node(failed), fabric.node(spare)
        if (
            replaced_node.tier != spare_node.tier
            or replaced_node is spare_node
            or not exchanged.keys().isdisjoint((failed, spare))
        ):
            raise TopologyError(
                f"fabric {fabric.name}: {spare} of tier {spare_node.tier} cannot take the address of "
                f"{failed} of tier {replaced_node.tier}",
                remedy="name two different nodes of one tier, and each node in one pair only",
            )
        exchanged |= {failed: spare_node.address, spare: replaced_node.address}
    nodes = tuple(
        replace(node, address=exchanged[node.name]) if node.name in exchanged else node
        for node in fabric.nodes
    )
    exchanged_fabric = replace(fabric, nodes=nodes)
    return with_maps(exchanged_fabric, replacement.circuits) if replacement.circuits else exchanged_fabric


def cut_from(fabric: Fabric, name: str, down: Container[str] = ()) -> Side | None:
    """Return the side, "domain" or "network", on which an endpoint has no working link, if any.

    None for a node without a NIC. `down` are names of failed links.
    """
    node = fabric.node(name)
    nics = nic_ports(node)
    if not nics:
        return None
    inside = [port.number for port in node.ports if port.number != HOST_PORT and port.number not in nics]
    sides: tuple[tuple[Side, tuple[int, ...]], ...] = (("network", nics), ("domain", tuple(inside)))
    for side, ports in sides:
        links = (fabric.link_at(name, port) for port in ports)
        if all(link is None or link.name in down for link in links):
            return side
    return None


@computed_once
def dark(fabric: Fabric) -> frozenset[str]:
    """Return the endpoints whose NIC ports have no link or circuit: no other domain reaches them."""
    return frozenset(node.name for node in fabric.nodes if _is_dark(fabric, node))


def _is_dark(fabric: Fabric, node: Node) -> bool:
    ports = nic_ports(node)
    return bool(ports) and all(fabric.link_at(node.name, port) is None for port in ports)


@computed_once
def _ranks(fabric: Fabric) -> frozenset[int]:
    """Return the ranks of members.

    A spare of another rank is an idle GPU of its domain; a spare of a member's rank is in an idle domain.
    """
    return frozenset(node.coordinates[0] for node in fabric.nodes if node.kind.member)
