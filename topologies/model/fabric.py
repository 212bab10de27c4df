# SPDX-License-Identifier: Apache-2.0
"""Fabrics as values: nodes with ports, links between ports, and optical switches."""

import re
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Self, final

from topologies.errors import TopologyError
from topologies.model.address import AddressPlan
from topologies.model.computed_once import computed_once

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["HOST_PORT", "End", "Fabric", "Link", "Node", "NodeKind", "OpticalSwitch", "Port"]

# Port of a node that leads to its host, the compute behind it.
HOST_PORT = 0

# Switching time of micromirrors, to the order of magnitude: ten milliseconds.
RECONFIGURATION_PS = 10_000_000_000


@final
@dataclass(frozen=True, slots=True)
class _Facts:
    level: int = 0
    member: bool = False
    spare: bool = False
    in_domain: bool = False
    symbol: str = ""


class NodeKind(StrEnum):
    """Kind of a node. Higher floors use the properties of a kind, never the kind itself.

    LRS and HRS are the low-radix and high-radix switches of UB-Mesh. HBS is the switch inside a
    high-bandwidth domain. NICs of GPUs lead to RAIL switches, RAIL switches to SPINE, SPINE to CORE. ROUTER
    is any switch of a graph.

    `level`: height of the kind: 0 for endpoints and for switches inside a domain, more for switches above.
        All switches of a kind have one level, even if they are in several tiers.
    `member`: the node takes part in collectives.
    `spare`: the node can replace a failed member.
    `in_domain`: the node has links inside its high-bandwidth domain besides its links to the network.
    `symbol`: letter that drawings write before the number of the node.
    """

    level: int
    member: bool
    spare: bool
    in_domain: bool
    symbol: str

    def __new__(cls, value: str, facts: _Facts) -> Self:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.level, kind.symbol = facts.level, facts.symbol
        kind.member, kind.spare, kind.in_domain = facts.member, facts.spare, facts.in_domain
        return kind

    @property
    def code(self) -> int:
        """Index of the kind among all kinds, from 0."""
        return list(NodeKind).index(self)

    NPU = "npu", _Facts(member=True)
    SPARE = "spare", _Facts(spare=True, symbol="S")
    CPU = "cpu", _Facts(symbol="C")
    LRS = "lrs", _Facts(level=1)
    HRS = "hrs", _Facts(level=2, symbol="H")
    GPU = "gpu", _Facts(member=True, in_domain=True)
    HBS = "hbs", _Facts(symbol="B")
    RAIL = "rail", _Facts(level=1, symbol="R")
    SPINE = "spine", _Facts(level=2, symbol="S")
    CORE = "core", _Facts(level=3, symbol="C")
    ROUTER = "router", _Facts(level=1, symbol="W")


@final
@dataclass(frozen=True, slots=True)
class Port:
    """A port and its lanes; `dimension` is None for the host port and for a link to another tier.

    An `edge` port of a switch has no link: it leads to a host, whose name is the name of the port.
    """

    number: int
    name: str
    lanes: int
    dimension: int | None
    edge: bool = False


@final
@dataclass(frozen=True, slots=True)
class Node:
    """A node: an endpoint or a switch.

    `program`: name of its P4 program.
    `coordinates`: one for each dimension, in the order of `Fabric.dims`.
    `tier`: 0 for endpoints, 1 and more for switches, higher with the distance from endpoints.
    `lanes`: number of UB lanes; None: `Fabric.host_lanes`.
    `position` (x to the right, y downwards) and `group` (name of a box): for drawings only.
    """

    name: str
    index: int
    kind: NodeKind
    program: str
    address: int
    coordinates: tuple[int, ...]
    ports: tuple[Port, ...]
    tier: int = 0
    lanes: int | None = None
    position: tuple[float, float] | None = None
    group: str = ""

    @property
    def device_id(self) -> int:
        """P4Runtime device id: index + 1, since 0 is not a valid id."""
        return self.index + 1

    @property
    def level(self) -> int:
        """Level of the node's kind; a level may span several tiers."""
        return self.kind.level

    @property
    def is_switch(self) -> bool:
        """True for a switch, False for an endpoint."""
        return self.tier > 0


@final
@dataclass(frozen=True, slots=True)
class End:
    """One end of a link: a node and its port."""

    node: str
    port: int


@final
@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex link of `rate_bps` bits per second in each direction, with a propagation delay in ps.

    The link joins two nodes of one tier that differ in coordinate `dimension` alone, or two nodes of
    different tiers (`dimension` None).
    """

    name: str
    a: End
    b: End
    lanes: int
    rate_bps: int
    delay_ps: int
    dimension: int | None

    def far(self, node: str) -> End:
        """Return the end opposite to `node`."""
        if node not in (self.a.node, self.b.node):
            raise TopologyError(
                f"link {self.name} has no end at {node}", remedy=f"name {self.a.node} or {self.b.node}"
            )
        return self.b if node == self.a.node else self.a


@final
@dataclass(frozen=True, slots=True)
class OpticalSwitch:
    """An optical circuit switch, joining its ports in pairs; a fibre leads from port i to `ends[i]`.

    Two joined ports are a circuit: a link between their two ends, of `lanes` lanes, `rate_bps` bits per
    second in each direction and `delay_ps` picoseconds from end to end. A new circuit carries nothing for
    `reconfiguration_ps` picoseconds.
    """

    name: str
    ends: tuple[End, ...]
    lanes: int
    rate_bps: int
    delay_ps: int
    reconfiguration_ps: int = RECONFIGURATION_PS


@final
@dataclass(frozen=True, slots=True)
class Fabric:
    """Nodes and links, looked up by name, port or address in constant time.

    `groups`: sets of dimensions, in the order in which a route visits them.
    `address_plan`: its last fields are the coordinates, the first dimension rightmost.
    `lane_rate_bps`, `host_lanes`, `host_delay_ps`: the link between a node and its host has `host_lanes`
        lanes of `lane_rate_bps` bits per second, and a delay of `host_delay_ps` picoseconds.
    `links`: existing circuits included, named `SWITCH:PORT-PORT` (`topologies.model.circuits`).
    `graph_routed`: links need not follow dimensions or tiers; routes are searched in the graph.
    `cache`: results of `computed_once`.
    `origin`: fabric with the results of `computed_for_any_circuits`.

    The constructor checks nothing; `topologies.model.checks` does.
    """

    name: str
    dims: tuple[int, ...]
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    address_plan: AddressPlan
    lane_rate_bps: int
    host_lanes: int
    host_delay_ps: int
    groups: tuple[tuple[int, ...], ...]
    optical: tuple[OpticalSwitch, ...] = ()
    graph_routed: bool = False
    _nodes: dict[str, Node] = field(init=False, repr=False, compare=False)
    _links: dict[str, Link] = field(init=False, repr=False, compare=False)
    _by_address: dict[int, Node] = field(init=False, repr=False, compare=False)
    _link_at: dict[tuple[str, int], Link] = field(init=False, repr=False, compare=False)
    _ports: dict[str, dict[str, int]] = field(init=False, repr=False, compare=False)
    _parallel: dict[tuple[str, str], tuple[int, ...]] = field(init=False, repr=False, compare=False)
    _optical: dict[str, OpticalSwitch] = field(init=False, repr=False, compare=False)
    cache: dict[Hashable, object] = field(init=False, repr=False, compare=False)
    _origin: "Fabric | None" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        link_at: dict[tuple[str, int], Link] = {}
        ports: dict[str, dict[str, int]] = {node.name: {} for node in self.nodes}
        parallel: dict[tuple[str, str], tuple[int, ...]] = {}
        for link in self.links:
            for end, other in ((link.a, link.b), (link.b, link.a)):
                link_at.setdefault((end.node, end.port), link)
                first = ports.setdefault(end.node, {}).setdefault(other.node, end.port)
                if first != end.port:
                    ends = end.node, other.node
                    parallel[ends] = (*parallel.get(ends, (first,)), end.port)
        by_port = {
            name: dict(sorted(by_neighbour.items(), key=lambda item: item[1]))
            for name, by_neighbour in ports.items()
        }
        object.__setattr__(self, "_nodes", {node.name: node for node in self.nodes})
        object.__setattr__(self, "_links", {link.name: link for link in self.links})
        object.__setattr__(self, "_by_address", {node.address: node for node in self.nodes})
        object.__setattr__(self, "_link_at", link_at)
        object.__setattr__(self, "_ports", by_port)
        object.__setattr__(self, "_parallel", parallel)
        object.__setattr__(self, "cache", {})
        object.__setattr__(self, "_origin", None)
        object.__setattr__(self, "_optical", {switch.name: switch for switch in self.optical})

    @property
    def origin(self) -> "Fabric":
        """The fabric that this fabric was derived from by changes of circuits, or this fabric."""
        return self._origin or self

    def with_links(self, links: Sequence[Link], *, circuits_alone: bool) -> "Fabric":
        """Return the fabric with other links.

        `circuits_alone`: only circuits differ, so both share the results of `computed_for_any_circuits`.
        """
        fabric = replace(self, links=tuple(links))
        if circuits_alone:
            object.__setattr__(fabric, "_origin", self.origin)
        return fabric

    def node(self, name: str) -> Node:
        """Return the node with a name; TopologyError suggests similar names when there is none."""
        try:
            return self._nodes[name]
        except KeyError:
            raise _unknown(self.name, "node", name, self._nodes) from None

    def node_of(self, address: int) -> Node | None:
        """Return the node of an address, or None."""
        return self._by_address.get(address)

    def link(self, name: str) -> Link:
        """Return the link with a name; TopologyError suggests similar names when there is none."""
        try:
            return self._links[name]
        except KeyError:
            raise _unknown(self.name, "link", name, self._links) from None

    def optical_switch(self, name: str) -> OpticalSwitch:
        """Return the optical switch with a name; TopologyError suggests similar names when there is none."""
        try:
            return self._optical[name]
        except KeyError:
            raise _unknown(self.name, "optical switch", name, self._optical) from None

    def has_optical_switch(self, name: str) -> bool:
        """Return whether an optical switch has this name."""
        return name in self._optical

    def link_at(self, node: str, port: int) -> Link | None:
        """Return the link on a port; None for a port that has no link or does not exist."""
        return self._link_at.get((node, port))

    def peer(self, node: str, port: int) -> End | None:
        """Return the other end of the link on a port, or None where there is no link."""
        link = self.link_at(node, port)
        return None if link is None else link.far(node)

    def port_to(self, node: str, neighbour: str) -> int:
        """Return the port of `node` whose link leads to `neighbour`; of parallel links the first."""
        try:
            return self._ports[node][neighbour]
        except KeyError:
            self.node(node)
            self.node(neighbour)
            raise TopologyError(
                f"fabric {self.name}: no link joins {node} and {neighbour}",
                remedy=f"name a neighbour of {node}: {', '.join(self._ports[node])}",
            ) from None

    def ports_along(self, path: Sequence[str]) -> list[int]:
        """Return the egress port of every hop of a path; of parallel links the first."""
        ports = self._ports
        try:
            return [ports[node][neighbour] for node, neighbour in pairwise(path)]
        except KeyError:
            return [self.port_to(node, neighbour) for node, neighbour in pairwise(path)]

    def ports_to(self, node: str, neighbour: str) -> tuple[int, ...]:
        """Return the ports of `node` to `neighbour`, in the order of the links."""
        return self._parallel.get((node, neighbour)) or (self.port_to(node, neighbour),)

    @property
    def has_parallel(self) -> bool:
        """True if several links join a pair of nodes."""
        return bool(self._parallel)

    def link_between(self, node: str, neighbour: str) -> Link:
        """Return the link between two neighbours; of parallel links the first."""
        return self._link_at[node, self.port_to(node, neighbour)]

    def links_between(self, node: str, neighbour: str) -> tuple[Link, ...]:
        """Return all links between two neighbours, in the order of the links."""
        return tuple(self._link_at[node, port] for port in self.ports_to(node, neighbour))

    def neighbours(self, node: str) -> tuple[str, ...]:
        """Return the neighbours of a node, in the order of the ports to them."""
        self.node(node)
        return tuple(self._ports[node])

    def hops_from(self, sources: Iterable[str]) -> dict[str, int]:
        """Return the links from the nearest source to each reachable node, nearest nodes first."""
        neighbours = self._neighbours()
        hops = {self.node(name).name: 0 for name in sources}
        waiting = deque(hops)
        while waiting:
            node = waiting.popleft()
            after = hops[node] + 1
            for neighbour in neighbours[node]:
                if neighbour not in hops:
                    hops[neighbour] = after
                    waiting.append(neighbour)
        return hops

    @computed_once
    def _neighbours(self) -> dict[str, tuple[str, ...]]:
        # Iterating over tuples is faster than over `_ports`; plans of a Pod search from every node.
        return {name: tuple(ports) for name, ports in self._ports.items()}

    @property
    @computed_once
    def endpoints(self) -> tuple[Node, ...]:
        """Nodes that send and receive (tier 0), in the order of `nodes`."""
        return tuple(node for node in self.nodes if not node.is_switch)

    @property
    @computed_once
    def switches(self) -> tuple[Node, ...]:
        """Nodes that only forward, in the order of `nodes`."""
        return tuple(node for node in self.nodes if node.is_switch)

    @computed_once
    def host_ends(self) -> Mapping[str, End]:
        """Return the ports at which frames enter and leave the fabric, by name.

        The key of an endpoint's host port is the name of the node; the key of an edge port is its host.
        """
        return {
            node.name if port.number == HOST_PORT else port.name: End(node.name, port.number)
            for node in self.nodes
            for port in node.ports
            if port.edge or (port.number == HOST_PORT and port.dimension is None)
        }

    def __reduce__(self) -> tuple[type["Fabric"], tuple[object, ...]]:
        # Pickle the fields alone; the constructor computes the rest.
        return Fabric, tuple(getattr(self, item.name) for item in fields(self) if item.init)

    def graph(self) -> "nx.Graph":
        """Return a new undirected graph of node names; edges carry the name of the link as `link`."""
        # Imported here: networkx takes half of the import time, and every process of a lab imports fabrics.
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(node.name for node in self.nodes)
        graph.add_edges_from((link.a.node, link.b.node, {"link": link.name}) for link in self.links)
        return graph


def _unknown(fabric: str, kind: str, name: str, known: Mapping[str, object]) -> TopologyError:
    # The name of a link with its ends in reverse order means the link; names of nodes may contain hyphens.
    words = name.split("-")
    turned = ("-".join([*words[end:], *words[:end]]) for end in range(1, len(words)))
    close = [link for link in turned if link in known] or get_close_matches(name, known, n=3)
    kinds = {re.sub(r"[\d.]+", "", known_name): known_name for known_name in reversed([*known])}
    some = ", ".join(close or (list(known)[:3] if len(kinds) == 1 else [*reversed(kinds.values())][:4]))
    remedy = f"did you mean {some}?" if close else f"{kind}s are named like {some}" if some else "it has none"
    return TopologyError(f"fabric {fabric}: no {kind} named {name!r}", remedy=remedy)
