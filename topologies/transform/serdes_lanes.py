# SPDX-License-Identifier: Apache-2.0
"""Lanes of endpoints, distributed over the dimensions of a fabric in another way.

UB-Mesh adjusts the bandwidth of dimensions Dx and Dy by the number of links that an NPU's IO gives to each
dimension (§3.1, Fig. 5). This module gives every link along a dimension the same number of lanes.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from topologies.errors import TopologyError
from topologies.model import Fabric, Link, Node

__all__ = ["with_lanes"]


def with_lanes(fabric: Fabric, lanes: Sequence[int], members: Collection[str]) -> Fabric:
    """Return the fabric with `lanes[d]` lanes on each link along dimension d between two of `members`.

    TopologyError if a member would have more lanes in use than before. Links to other nodes and to switches
    keep their lanes.
    """
    if len(lanes) != len(fabric.dims):
        raise TopologyError(
            f"{len(lanes)} numbers of lanes were given for the {len(fabric.dims)} dimensions of "
            f"{fabric.name}",
            remedy="give lanes of a link for each dimension",
        )
    if min(lanes) < 1:
        raise TopologyError(
            f"a link cannot have {min(lanes)} lanes", remedy="give 1 or more to each dimension"
        )
    chosen = set(members)

    def inside(link: Link) -> bool:
        return link.dimension is not None and {link.a.node, link.b.node} <= chosen

    if not any(map(inside, fabric.links)):
        raise TopologyError(
            f"no direct link joins two of the {len(chosen)} members", remedy="take members of a full mesh"
        )
    dealt: dict[str, dict[int, int]] = {}  # by node and port
    links = []
    for link in fabric.links:
        if link.dimension is None or not inside(link):
            links.append(link)
            continue
        own = lanes[link.dimension]
        links.append(replace(link, lanes=own, rate_bps=link.rate_bps * own // link.lanes))
        for end in (link.a, link.b):
            dealt.setdefault(end.node, {})[end.port] = own
    nodes = tuple(_dealt(node, dealt[node.name]) if node.name in dealt else node for node in fabric.nodes)
    return replace(fabric, nodes=nodes, links=tuple(links))


def _dealt(node: Node, lanes: dict[int, int]) -> Node:
    before = sum(port.lanes for port in node.ports if port.number in lanes)
    after = sum(lanes.values())
    if after > before:
        raise TopologyError(
            f"{node.name} has {before} lanes on these links, but the dimensions get {after} together",
            remedy="give a dimension only lanes that another dimension loses",
        )
    ports = tuple(replace(port, lanes=lanes.get(port.number, port.lanes)) for port in node.ports)
    return replace(node, ports=ports)
