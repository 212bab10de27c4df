# SPDX-License-Identifier: Apache-2.0
"""A fabric made from a networkx graph; all attributes of its nodes and edges are optional.

Attributes of a node:

    kind    npu (default) or gpu: an endpoint with a host
            switch or router: a node without a host
            host: a host that sends frames of any kind; its only edge leads to a switch, and makes no link but
            an edge port of this switch
    tier    height of a switch, 1 by default; 0 for endpoints
    place   coordinates in `dims`, a tuple; by default nodes are numbered, endpoints first
    x, y    position in drawings, x to the right and y downwards; without x and y the layout follows the graph
    group   name of the box in drawings that holds all nodes of this group

Attributes of an edge:

    rate_gbps   rate in each direction; by default the rate of the whole graph
    delay_ns    propagation delay; by default the delay of the whole graph
    ports       port numbers as text, "s1:3 s3:1"; by default ports are numbered in the order of the edges

A MultiGraph may have parallel links. Links need no structure: routes are searched in the graph.
"""

import re
from collections.abc import Mapping, Sequence, Set
from math import ceil, inf, isfinite
from typing import TYPE_CHECKING, Any

from topologies.errors import TopologyError
from topologies.model.address import CNA_BITS, AddressField, AddressPlan
from topologies.model.fabric import HOST_PORT, End, Fabric, Link, Node, NodeKind, Port
from topologies.model.port_numbers import PortNumbers, wanted_ports

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["DELAY_NS", "RATE_GBPS", "from_graph"]

RATE_GBPS = 400.0
DELAY_NS = 5.0

# Bits of an address that number nodes; the remaining bits are the class.
_NODE_BITS = 13
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_PROGRAMS = {True: "ub_npu", False: "ub_switch"}
_NODE_KEYS = frozenset({"kind", "tier", "place", "x", "y", "group"})
_EDGE_KEYS = frozenset({"rate_gbps", "delay_ns", "ports"})
_HOST = "host"


def from_graph(
    graph: "nx.Graph",
    name: str,
    *,
    rate_gbps: float = RATE_GBPS,
    delay_ns: float = DELAY_NS,
    dims: Sequence[int] | None = None,
) -> Fabric:
    """Return the fabric of a graph; TopologyError names the node or edge at fault.

    Args:
        graph: Undirected graph; the name of a node in the fabric is `str` of the node.
        name: Name of the fabric.
        rate_gbps: Rate in each direction of edges without an attribute `rate_gbps`.
        delay_ns: Delay of edges without an attribute `delay_ns`, and between each endpoint and its host.
        dims: Extents of the coordinates that each node gives as `place`; by default one dimension, which
            numbers the endpoints.
    """
    if graph.is_directed():
        raise TopologyError(
            f"{name} is a directed graph",
            remedy='give an undirected graph, in GraphML by edgedefault="undirected"',
        )
    if not graph.nodes:
        raise TopologyError(f"{name} is a graph without nodes", remedy="add nodes and edges")
    names = {node: _name(name, node) for node in graph.nodes}
    attributes = {node: data for node, data in graph.nodes(data=True) if data.get("kind") != _HOST}
    hosts = _hosts(name, graph, attributes)
    kinds = {node: _kind(name, node, data) for node, data in attributes.items()}
    tiers = {node: _tier(name, node, data, kinds[node]) for node, data in attributes.items()}
    edges = [_edge(name, names, hosts, *edge, rate_gbps, delay_ns) for edge in graph.edges(data=True)]
    numbers = PortNumbers(name, ((f"{names[a]}-{names[b]}", wanted) for a, b, _, _, wanted in edges))
    plan, coordinates_of = _addresses(name, attributes, tiers, dims)
    lane_bps = max((rate for _, _, rate, _, _ in edges), default=round(rate_gbps * 10**9))
    own_bps = dict.fromkeys(attributes, 0)
    ports: dict[Any, list[Port]] = {
        node: [] if tiers[node] else [Port(HOST_PORT, "host", 1, None)] for node in attributes
    }

    def add_port(node: Any, other: Any, wanted: Mapping[str, int]) -> End:
        number = numbers.take(names[node], wanted)
        edge = other in hosts
        label = names[other] if edge else f"to_{names[other]}"
        ports[node].append(Port(number, label, 1, None, edge=edge))
        return End(names[node], number)

    links: list[Link] = []
    taken: dict[str, int] = {}
    for a, b, rate, delay, wanted in edges:
        if a in hosts or b in hosts:
            add_port(*((b, a) if a in hosts else (a, b)), wanted)
            continue
        pair = f"{names[a]}-{names[b]}"
        taken[pair] = taken.get(pair, 0) + 1
        ends = add_port(a, b, wanted), add_port(b, a, wanted)
        label = pair if taken[pair] == 1 else f"{pair}.{taken[pair]}"
        links.append(Link(label, *ends, lanes=1, rate_bps=rate, delay_ps=delay, dimension=None))
        own_bps[a] += rate
        own_bps[b] += rate
    endpoints = [node for node in attributes if not tiers[node]]
    nodes = tuple(
        Node(
            name=names[node],
            index=index,
            kind=kinds[node],
            program=_PROGRAMS[not tiers[node]],
            address=_packed(plan, coordinates_of[node]),
            coordinates=coordinates_of[node],
            ports=tuple(sorted(ports[node], key=lambda port: port.number)),
            tier=tiers[node],
            lanes=max(1, sum(port.number != HOST_PORT and not port.edge for port in ports[node])),
            position=_position(name, node, attributes[node]),
            group=str(attributes[node].get("group", "")),
        )
        for index, node in enumerate(attributes)
    )
    sizes = tuple(dims) if dims else (len(endpoints),)
    return Fabric(
        name=name,
        dims=sizes,
        nodes=nodes,
        links=tuple(links),
        address_plan=plan,
        lane_rate_bps=lane_bps,
        host_lanes=max([ceil(own_bps[node] / lane_bps) for node in endpoints] or [1]) or 1,
        host_delay_ps=round(delay_ns * 1000),
        groups=(tuple(range(len(sizes))),),
        graph_routed=True,
    )


def _name(fabric: str, node: object) -> str:
    text = str(node)
    if not _NAME.fullmatch(text):
        raise TopologyError(
            f"{fabric}: {text!r} is not a name of a node",
            remedy="name it by letters, digits, dots, - and _ without spaces",
        )
    return text


def _hosts(fabric: str, graph: "nx.Graph", attributes: Mapping[Any, object]) -> set[Any]:
    """Return the nodes of kind host; TopologyError unless each has a single edge, to a switch."""
    hosts = {node for node in graph.nodes if node not in attributes}
    for host in hosts:
        _refuse_unknown(fabric, f"host {host}", graph.nodes[host], frozenset({"kind"}))
        ends = [other for _, other in graph.edges(host)]
        if len(ends) != 1 or graph.nodes[ends[0]].get("kind") != "switch":
            raise TopologyError(
                f"{fabric}: host {host} has {len(ends)} edges",
                remedy="give a host a single edge, to a switch",
            )
    return hosts


def _kind(fabric: str, node: object, data: Mapping[str, Any]) -> NodeKind:
    _refuse_unknown(fabric, f"node {node}", data, _NODE_KEYS)
    word = data.get("kind", "npu")
    # Listings of a fabric print `router` for a switch, so both words are read.
    allowed = {"npu": NodeKind.NPU, "gpu": NodeKind.GPU, "switch": NodeKind.ROUTER, "router": NodeKind.ROUTER}
    if word not in allowed:
        raise TopologyError(
            f"{fabric}: node {node}: kind {word!r} is not known",
            remedy=f"give {', '.join((*allowed, _HOST))}",
        )
    return allowed[word]


def _tier(fabric: str, node: object, data: Mapping[str, Any], kind: NodeKind) -> int:
    tier = data.get("tier", 0 if kind.member else 1)
    if isinstance(tier, bool) or not isinstance(tier, int) or (tier == 0) != kind.member or tier < 0:
        remedy = (
            "leave it out, or give the node kind switch"
            if kind.member
            else "give a whole number of at least 1"
        )
        raise TopologyError(f"{fabric}: node {node}: a {kind.value} cannot have tier {tier!r}", remedy=remedy)
    return tier


def _position(fabric: str, node: object, data: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return a node's position in drawings, None without x and y; TopologyError if they are no numbers."""
    if "x" not in data and "y" not in data:
        return None
    given = (data.get("x"), data.get("y"))
    x, y = (float(at) if isinstance(at, int | float) and not isinstance(at, bool) else inf for at in given)
    if not (isfinite(x) and isfinite(y)):
        raise TopologyError(
            f"{fabric}: node {node}: expected numbers x and y, got {given[0]!r} and {given[1]!r}",
            remedy="give both, or neither",
        )
    return x, y


def _edge(
    fabric: str,
    names: Mapping[Any, str],
    hosts: Set[Any],
    a: Any,
    b: Any,
    data: Mapping[str, Any],
    rate_gbps: float,
    delay_ns: float,
) -> tuple[Any, Any, int, int, dict[str, int]]:
    """Return the two nodes of an edge, its rate (bit/s), its delay (ps) and its port numbers by node."""
    what = f"edge {a} to {b}"
    _refuse_unknown(fabric, what, data, frozenset({"ports"}) if {a, b} & hosts else _EDGE_KEYS)
    values: list[int] = []
    for key, default, scale, least in (("rate_gbps", rate_gbps, 10**9, 1), ("delay_ns", delay_ns, 1000, 0)):
        value = data.get(key, default)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not least <= value * scale < float("inf"):
            floor = "above 0" if least else "of at least 0"
            raise TopologyError(f"{fabric}: {what}: {key} is {value!r}", remedy=f"give a number {floor}")
        values.append(round(value * scale))
    if a == b:
        raise TopologyError(f"{fabric}: {what} has both ends at the same node", remedy="remove the edge")
    wanted = wanted_ports(fabric, names[a], names[b], data["ports"]) if "ports" in data else {}
    return a, b, values[0], values[1], wanted


def _refuse_unknown(fabric: str, what: str, data: Mapping[str, Any], known: frozenset[str]) -> None:
    for key in data:
        if key not in known:
            raise TopologyError(
                f"{fabric}: {what} has an unknown attribute {key!r}",
                remedy=f"use one of {', '.join(sorted(known))}, or leave it out",
            )


def _addresses(
    fabric: str,
    attributes: Mapping[Any, Mapping[str, Any]],
    tiers: Mapping[Any, int],
    dims: Sequence[int] | None,
) -> tuple[AddressPlan, dict[Any, tuple[int, ...]]]:
    """Return the address plan and the coordinates of every node.

    Without `dims` the coordinate is a number: endpoints first, then switches.
    """
    coordinates_of: dict[Any, tuple[int, ...]] = {}
    if dims:
        widths = [max(1, (size - 1).bit_length()) for size in dims]
        for node, data in attributes.items():
            coordinates = tuple(data.get("place", ()))
            inside = len(coordinates) == len(dims) and all(
                0 <= at < size for at, size in zip(coordinates, dims, strict=True)
            )
            if tiers[node] or not inside:
                raise TopologyError(
                    f"{fabric}: node {node}: place {coordinates} is outside dims {tuple(dims)}, "
                    "or the node is a switch",
                    remedy="give every node a place inside the dims; a graph with switches takes no dims",
                )
            coordinates_of[node] = coordinates
    else:
        widths = [max(1, (len(attributes) - 1).bit_length())]
        for number, node in enumerate(sorted(attributes, key=lambda node: tiers[node] > 0)):
            coordinates_of[node] = (number,)
    if sum(widths) > _NODE_BITS:
        raise TopologyError(
            f"{fabric}: {len(attributes)} nodes need addresses of {sum(widths)} bits; an address "
            f"has {_NODE_BITS}",
            remedy=f"use up to {1 << _NODE_BITS} nodes",
        )
    fields = [AddressField(f"d{axis}", width) for axis, width in enumerate(widths)]
    top = AddressField("class", CNA_BITS - sum(widths))
    return AddressPlan((top, *reversed(fields))), coordinates_of


def _packed(plan: AddressPlan, coordinates: tuple[int, ...]) -> int:
    return plan.pack(**{f"d{axis}": value for axis, value in enumerate(coordinates)})
