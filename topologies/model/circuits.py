# SPDX-License-Identifier: Apache-2.0
"""Circuits of optical switches: a circuit joins two ports of such a switch, and is a link of the fabric."""

from collections.abc import Iterable, Mapping

from topologies.errors import TopologyError
from topologies.model.computed_once import computed_for_any_circuits
from topologies.model.fabric import Fabric, Link

__all__ = [
    "Circuit",
    "both_ways",
    "circuit_link",
    "circuit_of",
    "circuits_of",
    "core_dimensions",
    "crossconnect",
]

Circuit = tuple[int, int]
"""The two ports of an optical switch that a circuit joins, the lower one first."""


def circuits_of(name: str, ports: int, joined: Mapping[int, int]) -> tuple[Circuit, ...]:
    """Return the circuits of a crossconnect map, in order of their lower ports.

    TopologyError names a port that does not exist, that is joined to itself, or that two circuits share.

    Args:
        name: optical switch, for error messages.
        ports: number of its ports.
        joined: peer port by port; a circuit may be given from one of its ports or from both.
    """
    circuits = sorted({(min(pair), max(pair)) for pair in joined.items()})
    holder: dict[int, Circuit] = {}
    for circuit in circuits:
        for port in circuit:
            if not 0 <= port < ports:
                raise TopologyError(f"{name} has no port {port}", remedy=f"give a port from 0 to {ports - 1}")
        if circuit[0] == circuit[1]:
            raise TopologyError(
                f"{name}: port {circuit[0]} is joined to itself", remedy="leave the port out; it is dark then"
            )
        for port in circuit:
            if (other := holder.setdefault(port, circuit)) != circuit:
                others = [next(end for end in pair if end != port) for pair in (other, circuit)]
                raise TopologyError(
                    f"{name}: port {port} is joined to both {others[0]} and {others[1]}",
                    remedy="give each port one circuit at most",
                )
    return tuple(circuits)


def both_ways(circuits: Iterable[Circuit]) -> dict[int, int]:
    """Return the crossconnect map of circuits: peer by port, for both ports of each circuit, ascending."""
    return dict(sorted(end for low, high in circuits for end in ((low, high), (high, low))))


def circuit_link(fabric: Fabric, name: str, circuit: Circuit) -> Link:
    """Return the link of a circuit of optical switch `name`, set up or not."""
    switch = fabric.optical_switch(name)
    low, high = circuit
    a, b = switch.ends[low], switch.ends[high]
    port = next((port for port in fabric.node(a.node).ports if port.number == a.port), None)
    return Link(
        name=f"{name}:{low}-{high}",
        a=a,
        b=b,
        lanes=switch.lanes,
        rate_bps=switch.rate_bps,
        delay_ps=switch.delay_ps,
        dimension=port.dimension if port else 0,
    )


def circuit_of(fabric: Fabric, link: str) -> tuple[str, Circuit] | None:
    """Return the optical switch and the circuit denoted by a link name; None if the link is no circuit."""
    name, colon, ports = link.rpartition(":")
    low, dash, high = ports.partition("-")
    if not (colon and dash and low.isdecimal() and high.isdecimal()):
        return None
    circuit = int(low), int(high)
    if (str(circuit[0]), str(circuit[1])) != (low, high):
        return None
    if not fabric.has_optical_switch(name):
        return None
    ends = fabric.optical_switch(name).ends
    return (name, circuit) if circuit[0] < circuit[1] < len(ends) else None


def crossconnect(fabric: Fabric, name: str) -> dict[int, int]:
    """Return the peer port of each joined port of optical switch `name`, for both ports of a circuit."""
    switch = fabric.optical_switch(name)
    port_of = {end: port for port, end in enumerate(switch.ends)}
    joined: dict[int, int] = {}
    for port, end in enumerate(switch.ends):
        peer = fabric.peer(end.node, end.port)
        if peer in port_of:
            joined[port] = port_of[peer]
    return joined


@computed_for_any_circuits
def core_dimensions(fabric: Fabric) -> Mapping[str, int]:
    """Return the dimension of each packet switch's ports to optical switches, by name of the packet switch.

    A packet switch is absent if all its ports to optical switches lead to another tier.
    """
    dimensions: dict[str, int] = {}
    for end in (end for switch in fabric.optical for end in switch.ends):
        node = fabric.node(end.node)
        if node.is_switch and end.node not in dimensions:
            axis = next((port.dimension for port in node.ports if port.number == end.port), None)
            if axis is not None:
                dimensions[end.node] = axis
    return dimensions
