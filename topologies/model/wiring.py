# SPDX-License-Identifier: Apache-2.0
"""Builder of fabrics: a generator adds named nodes and links, the builder numbers nodes and ports."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import final

from topologies.errors import TopologyError
from topologies.model.address import AddressPlan
from topologies.model.fabric import HOST_PORT, End, Fabric, Link, Node, NodeKind, Port

__all__ = ["Wiring"]


@final
class Wiring:
    """Builder of a fabric: adds nodes and links one by one, and numbers their ports.

    Nodes are indexed in the order in which they are added. A node's ports are numbered from 1, in the order
    in which its links are added; the host port, if any, is 0.
    """

    def __init__(
        self, plan: AddressPlan, dims: tuple[int, ...], *, lane_rate_bps: int, host_lanes: int
    ) -> None:
        for what, value in (("lane_rate_bps", lane_rate_bps), ("host_lanes", host_lanes)):
            if value <= 0:
                raise TopologyError(
                    f"{what} is {value}, which is not above 0", remedy="give a number above 0"
                )
        self._plan = plan
        self._dims = dims
        self._lane_rate_bps = lane_rate_bps
        self._host_lanes = host_lanes
        self._nodes: dict[str, Node] = {}
        self._ports: dict[str, list[Port]] = {}
        self._links: list[Link] = []
        self._port = cache(Port)  # ports of alike nodes are equal
        fields = plan.fields[::-1][: len(dims)]
        self._places = [(plan.shift(part.name), plan.mask(part.name)) for part in fields]

    def node(
        self,
        name: str,
        kind: NodeKind,
        program: str,
        address: int,
        *,
        tier: int = 0,
        lanes: int | None = None,
    ) -> None:
        """Add a node; a node of tier 0 gets a host port.

        The coordinates of the node are the last fields of its address.
        """
        coordinates = tuple([address >> shift & mask for shift, mask in self._places])
        self._nodes[name] = Node(name, len(self._nodes), kind, program, address, coordinates, (), tier, lanes)
        own = lanes or self._host_lanes
        self._ports[name] = [Port(HOST_PORT, "host", own, None)] if tier == 0 else []

    def link(
        self,
        a: str,
        b: str,
        *,
        lanes: int,
        delay_ps: int,
        labels: tuple[str, str],
        dimension: int | None = None,
        rate_bps: int | None = None,
    ) -> None:
        """Add a link between two nodes; `labels` name its ports, on `a` and on `b`.

        `dimension` is the dimension of the mesh that has the link; None: the link joins two tiers. The
        default of `rate_bps` is the rate of the lanes together.
        """
        link = Link(
            name=f"{a}-{b}",
            a=self._end(a, labels[0], lanes, dimension),
            b=self._end(b, labels[1], lanes, dimension),
            lanes=lanes,
            rate_bps=lanes * self._lane_rate_bps if rate_bps is None else rate_bps,
            delay_ps=delay_ps,
            dimension=dimension,
        )
        self._links.append(link)

    def fibre(self, node: str, label: str, *, lanes: int, dimension: int | None = None) -> End:
        """Add a port of `node` for a fibre to an optical switch, and return its end.

        `dimension` is the dimension of the circuits on the port; None: the circuits lead to another tier.
        """
        return self._end(node, label, lanes, dimension)

    def _end(self, node: str, label: str, lanes: int, dimension: int | None) -> End:
        """Add a port for the end of a link, and return the end."""
        ports = self._ports[node]
        number = len(ports) if ports and ports[0].number == HOST_PORT else len(ports) + 1
        ports.append(self._port(number, label, lanes, dimension))
        return End(node, number)

    def fabric(
        self,
        name: str,
        *,
        host_delay_ps: int,
        groups: tuple[tuple[int, ...], ...],
        remedies: Mapping[NodeKind, str],
    ) -> Fabric:
        """Return the fabric; TopologyError when the links of a node use more lanes than it has.

        `remedies` has the remedy of this error by kind of the node. `groups` and `host_delay_ps` are fields
        of the Fabric.
        """
        for node in self._nodes.values():
            used = sum(port.lanes for port in self._ports[node.name] if port.number != HOST_PORT)
            if used > (available := node.lanes or self._host_lanes):
                raise TopologyError(
                    f"{name}: links of {node.name} use {used} of its {available} lanes",
                    remedy=remedies.get(node.kind, ""),
                )
        return Fabric(
            name=name,
            dims=self._dims,
            nodes=tuple(replace(node, ports=tuple(self._ports[node.name])) for node in self._nodes.values()),
            links=tuple(self._links),
            address_plan=self._plan,
            lane_rate_bps=self._lane_rate_bps,
            host_lanes=self._host_lanes,
            host_delay_ps=host_delay_ps,
            groups=groups,
        )
