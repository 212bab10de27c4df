# SPDX-License-Identifier: Apache-2.0
"""Port numbers: the largest that a source route can address, and the numbers of the nodes of a graph.

A node of a graph takes the port number that an edge requests, else the lowest free one.
"""

from collections.abc import Iterable, Mapping
from typing import final

from topologies.errors import TopologyError
from topologies.model.fabric import Fabric

__all__ = ["MAX_PORT", "PortNumbers", "check_ports", "wanted_ports"]

MAX_PORT = 255
"""Largest port number: the source-route header carries an egress port in 8 bits."""

_SHAPE = "write the number at one end or both, as in ports: s1:3 s3:1"


def check_ports(fabric: Fabric, remedy: str) -> None:
    """Raise a TopologyError with this remedy if source routes cannot address a port of a node."""
    for node in fabric.nodes:
        if node.ports and node.ports[-1].number > MAX_PORT:
            raise TopologyError(
                f"{fabric.name}: {node.name} has {node.ports[-1].number} ports, but a source route can "
                f"address only {MAX_PORT}",
                remedy=remedy,
            )


def wanted_ports(fabric: str, a: str, b: str, text: object) -> dict[str, int]:
    """Return the port numbers, by node, requested by `text`, the attribute `ports` of an edge."""
    result: dict[str, int] = {}
    for part in text.split() if isinstance(text, str) else [str(text)]:
        node, _, number = part.rpartition(":")
        if node not in (a, b) or node in result or not number.isdecimal():
            raise TopologyError(
                f"{fabric}: edge {a} to {b}: ports is {text!r}, expected NODE:NUMBER", remedy=_SHAPE
            )
        if not 1 <= int(number) <= MAX_PORT:
            raise TopologyError(
                f"{fabric}: edge {a} to {b} has port {number} of {node}, which does not exist",
                remedy=f"use ports 1 to {MAX_PORT}",
            )
        result[node] = int(number)
    return result


@final
class PortNumbers:
    """Allocator of port numbers, from 1 at each node; a requested number is reserved for its edge."""

    def __init__(self, fabric: str, wanted: Iterable[tuple[str, Mapping[str, int]]]) -> None:
        """Reserve requested numbers; `wanted` has, for each edge, its name and its numbers by node."""
        self._holders: dict[tuple[str, int], tuple[int, str]] = {}
        self._next: dict[str, int] = {}
        for at, (edge, numbers) in enumerate(wanted):
            for node, number in numbers.items():
                holder, name = self._holders.setdefault((node, number), (at, edge))
                if holder != at:
                    raise TopologyError(
                        f"{fabric}: edges {name} and {edge} share port {number} of {node}",
                        remedy="give each its own number",
                    )

    def take(self, node: str, wanted: Mapping[str, int]) -> int:
        """Return the number requested by an edge at a node, else the lowest free number."""
        if node in wanted:
            return wanted[node]
        number = self._next.get(node, 1)
        while (node, number) in self._holders:
            number += 1
        if number > MAX_PORT:
            raise TopologyError(f"{node} has more than {MAX_PORT} links", remedy="use fewer links a node")
        self._next[node] = number + 1
        return number
