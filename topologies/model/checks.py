# SPDX-License-Identifier: Apache-2.0
"""Search of a fabric for inconsistencies, without side effects."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from topologies.errors import TopologyError
from topologies.model.address import CNA_BITS
from topologies.model.circuits import circuit_link, circuit_of
from topologies.model.components import components
from topologies.model.fabric import HOST_PORT, End, Fabric, Link, Node, OpticalSwitch, Port

__all__ = ["LaneUse", "check", "lane_audit", "problems"]


@final
@dataclass(frozen=True, slots=True)
class LaneUse:
    """Lanes of one node: `used` on its links, of the `available` lanes of the node."""

    used: int
    available: int

    @property
    def unconnected(self) -> int:
        return self.available - self.used


def check(fabric: Fabric) -> None:
    """Raise one TopologyError with all problems of the fabric, if there are any."""
    faults = problems(fabric)
    if faults:
        listed = "".join(f"\n  - {problem}" for problem in faults)
        raise TopologyError(f"fabric {fabric.name} has problems; correct them:{listed}")


def problems(fabric: Fabric) -> list[str]:
    """Return all problems in a fixed order; an empty list when the fabric can be built."""
    faults = [*_addresses(fabric), *_nodes(fabric), *_links(fabric), *_rates(fabric), *_optical(fabric)]
    # Checks of connectivity and lanes need links whose ends exist.
    return faults or [*_unconnected(fabric), *_lanes(fabric)]


def lane_audit(fabric: Fabric) -> dict[str, LaneUse]:
    """Return the lanes of every node by name: in use on its links, and available.

    In the UB-Mesh rack without switches, 56 of an NPU's 72 lanes are used; the x16 towards the rack's
    switches is unconnected.
    """
    used: Counter[str] = Counter()
    lanes = {(end.node, end.port): link.lanes for link in fabric.links for end in (link.a, link.b)}
    # A fibre to an optical switch uses its lanes even without a circuit.
    lanes |= {(end.node, end.port): switch.lanes for switch in fabric.optical for end in switch.ends}
    for (node, _), taken in lanes.items():
        used[node] += taken
    own = fabric.host_lanes
    return {
        node.name: LaneUse(used[node.name], own if node.lanes is None else node.lanes)
        for node in fabric.nodes
    }


def _addresses(fabric: Fabric) -> Iterator[str]:
    plan = fabric.address_plan
    if plan.bits != CNA_BITS or len(plan.fields) < len(fabric.dims):
        yield f"address plan: {len(plan.fields)} fields, {plan.bits} bits, for {len(fabric.dims)} dimensions"
        return
    field_names = [part.name for part in reversed(plan.fields)][: len(fabric.dims)]
    yield from _repeated("address field", (part.name for part in plan.fields))
    holders: dict[int, list[str]] = {}
    for node in fabric.nodes:
        holders.setdefault(node.address, []).append(node.name)
        if not 0 <= node.address < 1 << plan.bits:
            yield f"{node.name}: address {node.address:#x} does not fit {plan.bits} bits"
            continue
        values = plan.unpack(node.address)
        if tuple(values[name] for name in field_names) != node.coordinates:
            yield f"{node.name}: address {node.address:#06x} is not that of coordinates {node.coordinates}"
    for address, names in holders.items():
        if len(names) > 1:
            yield f"address {address:#06x} belongs to {', '.join(names)}"


def _nodes(fabric: Fabric) -> Iterator[str]:
    if not fabric.nodes:
        yield "no nodes"
    yield from _repeated("node name", (node.name for node in fabric.nodes))
    yield from _repeated("node index", (node.index for node in fabric.nodes))
    for node in fabric.nodes:
        # The coordinates of a switch count switches, so they may lie outside `dims`.
        if len(node.coordinates) != len(fabric.dims) or (
            node.kind.member
            and any(not 0 <= at < size for at, size in zip(node.coordinates, fabric.dims, strict=True))
        ):
            yield f"{node.name}: coordinates {node.coordinates} lie outside dims {fabric.dims}"
        if node.tier < 0:
            yield f"{node.name}: tier is {node.tier}, below 0"
        if node.lanes is not None and node.lanes <= 0:
            yield f"{node.name}: {node.lanes} lanes"
        for number in _twice(port.number for port in node.ports):
            yield f"{node.name}: two ports numbered {number}"
        for port in node.ports:
            if port.lanes <= 0:
                yield f"{node.name} port {port.number}: {port.lanes} lanes"
            if port.dimension is None:
                continue
            if port.number == HOST_PORT:
                yield f"{node.name} port {HOST_PORT}: the host port is in no dimension, not {port.dimension}"
            elif not 0 <= port.dimension < len(fabric.dims):
                yield f"{node.name} port {port.number}: dimension {port.dimension} does not exist"
        has_host = any(port.number == HOST_PORT for port in node.ports)
        if node.tier == 0 and not has_host:
            yield f"{node.name}: no host port {HOST_PORT}"
        if node.tier > 0 and has_host:
            yield f"{node.name}: has host port {HOST_PORT}, but a node of tier {node.tier} must have none"
    edges = [port.name for node in fabric.nodes for port in node.ports if port.edge]
    yield from _repeated("name of a node or host", (*edges, *(node.name for node in fabric.nodes if edges)))
    grouped = [dimension for group in fabric.groups for dimension in group]
    if sorted(grouped) != list(range(len(fabric.dims))):
        yield f"groups {fabric.groups} do not name each of {len(fabric.dims)} dimensions once"


def _links(fabric: Fabric) -> Iterator[str]:
    yield from _repeated("link name", (link.name for link in fabric.links))
    ports = {(node.name, port.number): port for node in fabric.nodes for port in node.ports}
    nodes = {node.name: node for node in fabric.nodes}
    for link in fabric.links:
        if link.a.node == link.b.node:
            yield f"link {link.name}: both ends on {link.a.node}"
        for end in (link.a, link.b):
            if end.node not in nodes:
                yield f"link {link.name}: no node named {end.node!r}"
                continue
            port = ports.get((end.node, end.port))
            if port is None:
                yield f"link {link.name}: {end.node} has no port {end.port}"
            elif end.port == HOST_PORT:
                yield f"link {link.name}: ends on the host port of {end.node}"
            elif port.edge:
                yield f"link {link.name}: ends on port {end.port} of {end.node}, a port of host {port.name}"
            elif (port.lanes, port.dimension) != (link.lanes, link.dimension):
                yield (
                    f"link {link.name}: x{link.lanes} in {_axis(link.dimension)}, but port {end.port} of "
                    f"{end.node} is x{port.lanes} in {_axis(port.dimension)}"
                )
            first = fabric.link_at(end.node, end.port)
            if first is not None and first.name != link.name:
                yield f"links {first.name} and {link.name} share port {end.port} of {end.node}"
        if link.a.node in nodes and link.b.node in nodes and not fabric.graph_routed:
            yield from _straight(link, nodes[link.a.node], nodes[link.b.node])


def _straight(link: Link, a: Node, b: Node) -> Iterator[str]:
    """Yield a problem unless a link is a step in its dimension alone, or joins two tiers.

    Only such links suit routes by coordinates and tiers.
    """
    if link.dimension is None:
        if a.tier == b.tier and a is not b:
            yield (
                f"link {link.name}: in no dimension, but joins two nodes of tier {a.tier}; give it a "
                "dimension, or the fabric `graph_routed: true`"
            )
        return
    if a.tier != b.tier:
        yield f"link {link.name}: in {_axis(link.dimension)}, but joins tiers {a.tier} and {b.tier}"
        return
    if a is b or len(a.coordinates) != len(b.coordinates):
        return
    values = zip(a.coordinates, b.coordinates, strict=True)
    changed = [axis for axis, (first, second) in enumerate(values) if first != second]
    if changed != [link.dimension]:
        yield (
            f"link {link.name}: {a.coordinates} to {b.coordinates} is no step in dimension {link.dimension} "
            "alone; give the fabric `graph_routed: true`"
        )


def _axis(dimension: int | None) -> str:
    return "no dimension" if dimension is None else f"dimension {dimension}"


def _rates(fabric: Fabric) -> Iterator[str]:
    if fabric.lane_rate_bps <= 0:
        yield f"lane rate of {fabric.lane_rate_bps} bit/s"
    if fabric.host_lanes <= 0:
        yield f"{fabric.host_lanes} host lanes"
    if fabric.host_delay_ps < 0:
        yield f"host delay of {fabric.host_delay_ps} ps"
    for link in fabric.links:
        if link.rate_bps <= 0:
            yield f"link {link.name}: rate of {link.rate_bps} bit/s"
        if link.delay_ps < 0:
            yield f"link {link.name}: delay of {link.delay_ps} ps"


def _optical(fabric: Fabric) -> Iterator[str]:
    if not fabric.optical:
        return
    yield from _repeated("optical switch name", (switch.name for switch in fabric.optical))
    ports = {End(node.name, port.number): port for node in fabric.nodes for port in node.ports}
    names = {node.name for node in fabric.nodes}
    taken: dict[End, str] = {}
    for switch in fabric.optical:
        if switch.name in names:
            yield f"optical switch {switch.name}: a node has that name"
        if not switch.ends:
            yield f"optical switch {switch.name}: no ports"
        if switch.rate_bps <= 0:
            yield f"optical switch {switch.name}: rate of {switch.rate_bps} bit/s"
        for what, value in (("delay", switch.delay_ps), ("reconfiguration time", switch.reconfiguration_ps)):
            if value < 0:
                yield f"optical switch {switch.name}: {what} of {value} ps"
        for number, end in enumerate(switch.ends):
            port_name = f"{switch.name} port {number}"
            yield from _fibre(switch, port_name, end, ports.get(end), known=end.node in names)
            if (holder := taken.setdefault(end, port_name)) != port_name:
                yield f"{holder} and {port_name} both lead to port {end.port} of {end.node}"
    yield from _circuits(fabric, taken)


def _fibre(switch: OpticalSwitch, label: str, end: End, port: Port | None, *, known: bool) -> Iterator[str]:
    if not known:
        yield f"{label}: no node named {end.node!r}"
    elif port is None:
        yield f"{label}: {end.node} has no port {end.port}"
    elif end.port == HOST_PORT:
        yield f"{label}: leads to the host port of {end.node}"
    elif port.lanes != switch.lanes:
        yield f"{label}: x{switch.lanes}, but port {end.port} of {end.node} is x{port.lanes}"


def _circuits(fabric: Fabric, fibres: Mapping[End, str]) -> Iterator[str]:
    """Yield problems of links with fibres of optical switches.

    A link on a fibre has to be a circuit; a circuit has to equal the link that its optical switch defines.
    """
    names = {node.name for node in fabric.nodes}
    for link in fabric.links:
        circuit = circuit_of(fabric, link.name)
        if circuit is None:
            for end in (link.a, link.b):
                if end in fibres:
                    yield f"link {link.name}: port {end.port} of {end.node} leads to {fibres[end]}"
            continue
        name, ports = circuit
        if not {fabric.optical_switch(name).ends[port].node for port in ports} <= names:
            continue
        expected = circuit_link(fabric, name, ports)
        if link != expected:
            ends = f"{expected.a.node} port {expected.a.port} and {expected.b.node} port {expected.b.port}"
            yield (
                f"link {link.name}: that circuit joins {ends}, x{expected.lanes} at "
                f"{expected.rate_bps} bit/s with {expected.delay_ps} ps"
            )


def _unconnected(fabric: Fabric) -> Iterator[str]:
    # A port on a fibre counts as joined: its optical switch may set up a circuit later.
    fibres = {(end.node, end.port) for switch in fabric.optical for end in switch.ends}
    for node in fabric.nodes:
        for port in node.ports:
            if port.number == HOST_PORT or port.edge or fabric.link_at(node.name, port.number) is not None:
                continue
            if (node.name, port.number) not in fibres:
                yield f"{node.name}: port {port.number} ({port.name}) has no link"
    edges = [(link.a.node, link.b.node) for link in fabric.links]
    for switch in fabric.optical:
        edges += pairwise(end.node for end in switch.ends)
    parts = components((node.name for node in fabric.nodes), edges)
    largest, *others = sorted(parts, key=len, reverse=True) or [[]]
    for part in others:
        yield f"no path joins {_some(sorted(part))} to {min(largest)}"


def _lanes(fabric: Fabric) -> Iterator[str]:
    excess: dict[LaneUse, list[str]] = {}
    for name, lanes in lane_audit(fabric).items():
        if lanes.used > lanes.available:
            excess.setdefault(lanes, []).append(name)
    for lanes, nodes in excess.items():
        yield f"{_some(nodes)}: links use {lanes.used} of {lanes.available} lanes"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _repeated(what: str, values: Iterable[Hashable]) -> Iterator[str]:
    for value in _twice(values):
        yield f"{what} {value} is used more than once"


def _twice(values: Iterable[Hashable]) -> list[Hashable]:
    return [value for value, count in Counter(values).items() if count > 1]
