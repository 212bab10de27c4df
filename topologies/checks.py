# SPDX-License-Identifier: Apache-2.0
"""Every problem of a fabric, found without side effects."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import networkx as nx

from topologies.address import CNA_BITS
from topologies.errors import TopologyError
from topologies.model import HOST_PORT, End, Fabric, Link

__all__ = ["LaneUse", "check", "lane_audit", "problems"]


@final
@dataclass(frozen=True, slots=True)
class LaneUse:
    """Lanes of one node: those on links, and those it has."""

    used: int
    available: int

    @property
    def unconnected(self) -> int:
        return self.available - self.used


def check(fabric: Fabric) -> None:
    """Raises one TopologyError that names every problem."""
    found = problems(fabric)
    if found:
        listed = "".join(f"\n  - {problem}" for problem in found)
        raise TopologyError(f"fabric {fabric.name}; to correct:{listed}")


def problems(fabric: Fabric) -> list[str]:
    """All problems in a fixed order; empty when the fabric can be built."""
    found = [*_addresses(fabric), *_nodes(fabric), *_links(fabric), *_rates(fabric)]
    # Reachability and lanes mean nothing while links end nowhere.
    return found or [*_unconnected(fabric), *_lanes(fabric)]


def lane_audit(fabric: Fabric) -> dict[str, LaneUse]:
    """Lanes of every node; those not on links are not connected in this fabric.

    In the UB-Mesh rack 56 of 72 are used: the x16 towards the rack's switches is unconnected.
    """
    used: Counter[str] = Counter()
    for link in fabric.links:
        used[link.a.node] += link.lanes
        used[link.b.node] += link.lanes
    return {node.name: LaneUse(used[node.name], fabric.host_lanes) for node in fabric.nodes}


def _addresses(fabric: Fabric) -> Iterator[str]:
    plan = fabric.address_plan
    if plan.bits != CNA_BITS or len(plan.fields) < len(fabric.dims):
        yield f"address plan: {len(plan.fields)} fields, {plan.bits} bits, for {len(fabric.dims)} dimensions"
        return
    places = [part.name for part in reversed(plan.fields)][: len(fabric.dims)]
    yield from _repeated("address field", (part.name for part in plan.fields))
    holders: dict[int, list[str]] = {}
    for node in fabric.nodes:
        holders.setdefault(node.address, []).append(node.name)
        if not 0 <= node.address < 1 << plan.bits:
            yield f"{node.name}: address {node.address:#x} does not fit {plan.bits} bits"
            continue
        values = plan.unpack(node.address)
        if tuple(values[name] for name in places) != node.coordinates:
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
        if len(node.coordinates) != len(fabric.dims) or any(
            not 0 <= value < size for value, size in zip(node.coordinates, fabric.dims, strict=False)
        ):
            yield f"{node.name}: coordinates {node.coordinates} lie outside dims {fabric.dims}"
        for number in _twice(port.number for port in node.ports):
            yield f"{node.name}: two ports numbered {number}"
        for port in node.ports:
            if port.lanes <= 0:
                yield f"{node.name} port {port.number}: {port.lanes} lanes"
            if (port.dimension is None) != (port.number == HOST_PORT):
                yield f"{node.name} port {port.number}: port {HOST_PORT} and no other is without dimension"
            elif port.dimension is not None and not 0 <= port.dimension < len(fabric.dims):
                yield f"{node.name} port {port.number}: no dimension {port.dimension}"
        if HOST_PORT not in (port.number for port in node.ports):
            yield f"{node.name}: no host port {HOST_PORT}"
    grouped = [dimension for group in fabric.groups for dimension in group]
    if sorted(grouped) != list(range(len(fabric.dims))):
        yield f"groups {fabric.groups} do not name each of {len(fabric.dims)} dimensions once"


def _links(fabric: Fabric) -> Iterator[str]:
    yield from _repeated("link name", (link.name for link in fabric.links))
    ports = {(node.name, port.number): port for node in fabric.nodes for port in node.ports}
    names = {node.name for node in fabric.nodes}
    taken: dict[tuple[str, int], str] = {}
    for link in fabric.links:
        if link.a.node == link.b.node:
            yield f"link {link.name}: both ends on {link.a.node}"
        for end in (link.a, link.b):
            if end.node not in names:
                yield f"link {link.name}: no node named {end.node!r}"
                continue
            port = ports.get((end.node, end.port))
            if port is None:
                yield f"link {link.name}: {end.node} has no port {end.port}"
            elif end.port == HOST_PORT:
                yield f"link {link.name}: ends on the host port of {end.node}"
            elif (port.lanes, port.dimension) != (link.lanes, link.dimension):
                yield (
                    f"link {link.name}: x{link.lanes} in dimension {link.dimension}, but port {end.port} of "
                    f"{end.node} is x{port.lanes} in dimension {port.dimension}"
                )
            holder = taken.setdefault((end.node, end.port), link.name)
            if holder != link.name:
                yield f"links {holder} and {link.name} share port {end.port} of {end.node}"
        yield from _straight(fabric, link)


def _straight(fabric: Fabric, link: Link) -> Iterator[str]:
    """Forwarding and turn rules take a link for a step in its dimension, so it must be one."""
    places = {node.name: node.coordinates for node in fabric.nodes}
    a, b = places.get(link.a.node), places.get(link.b.node)
    if a is None or b is None or len(a) != len(b):
        return
    changed = [axis for axis, (one, other) in enumerate(zip(a, b, strict=True)) if one != other]
    if changed != [link.dimension] and link.a.node != link.b.node:
        yield f"link {link.name}: {a} to {b} is no step in dimension {link.dimension} alone"


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


def _unconnected(fabric: Fabric) -> Iterator[str]:
    joined: set[End] = {end for link in fabric.links for end in (link.a, link.b)}
    for node in fabric.nodes:
        for port in node.ports:
            if port.number != HOST_PORT and End(node.name, port.number) not in joined:
                yield f"{node.name}: port {port.number} ({port.name}) has no link"
    parts = sorted(nx.connected_components(fabric.graph()), key=len, reverse=True)
    for part in parts[1:]:
        yield f"no path joins {_some(sorted(part))} to {min(parts[0])}"


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
