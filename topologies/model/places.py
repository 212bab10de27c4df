# SPDX-License-Identifier: Apache-2.0
"""Boards, racks, domains and planes of a fabric, derived from coordinates and links."""

from topologies.model.computed_once import computed_once
from topologies.model.fabric import Fabric, Node, NodeKind

__all__ = ["NIC", "boards", "domains", "nic_planes", "nic_ports", "plane_of", "planes", "racks"]

# Name of an endpoint's port to the network between domains; with several ports a number follows.
NIC = "nic"


def boards(fabric: Fabric) -> list[list[Node]]:
    """Return the NPUs of each board, in the order of Pod, row, column and board."""
    by_board: dict[tuple[int, ...], list[Node]] = {}
    for node in fabric.nodes:
        if node.kind is NodeKind.NPU:
            by_board.setdefault(node.coordinates[1:], []).append(node)
    return [by_board[board] for board in sorted(by_board, key=lambda board: board[::-1])]


def racks(fabric: Fabric) -> list[list[Node]]:
    """Return the nodes of each rack, without HRS, in the order of Pod, row and column."""
    by_rack: dict[tuple[int, ...], list[Node]] = {}
    for node in fabric.nodes:
        if node.kind is not NodeKind.HRS:
            by_rack.setdefault(node.coordinates[2:], []).append(node)
    return [by_rack[rack] for rack in sorted(by_rack, key=lambda rack: rack[::-1])]


def nic_ports(node: Node) -> tuple[int, ...]:
    """Return the NIC ports of an endpoint (out of its domain); empty for any other node."""
    return tuple(port.number for port in node.ports if port.name.startswith(NIC) and not node.is_switch)


@computed_once
def plane_of(fabric: Fabric) -> dict[str, int]:
    """Return the plane of each ToR, and of each switch above ToRs of a single plane.

    The number of a plane is the number, from 0, of the NIC port that leads to its ToRs.
    """
    planes_below: dict[str, set[int]] = {}
    for node in fabric.nodes:
        for number, port in enumerate(nic_ports(node)):
            if (tor := fabric.peer(node.name, port)) is not None:
                planes_below.setdefault(tor.node, set()).add(number)
    for node in sorted(fabric.nodes, key=lambda node: node.tier):
        for neighbour in fabric.neighbours(node.name) if node.is_switch else ():
            if fabric.node(neighbour).tier > node.tier:
                planes_below.setdefault(neighbour, set()).update(planes_below.get(node.name, ()))
    return {name: next(iter(below)) for name, below in planes_below.items() if len(below) == 1}


def nic_planes(fabric: Fabric) -> list[list[Node]]:
    """Return the switches of each plane of a fabric with multi-port NICs, in the order of the ports.

    The result is empty if NICs have one port, or if a switch joins several planes.
    """
    numbers = plane_of(fabric)
    count = max(numbers.values(), default=0) + 1
    above = {node.name for node in fabric.nodes if node.is_switch and node.level}
    if count == 1 or above - numbers.keys():
        return []
    return [[node for node in fabric.nodes if numbers.get(node.name) == plane] for plane in range(count)]


def domains(fabric: Fabric) -> list[list[Node]]:
    """Return the endpoints of each domain, idle endpoints included."""
    by_domain: dict[tuple[int, ...], list[Node]] = {}
    for node in fabric.nodes:
        if nic_ports(node):
            by_domain.setdefault(node.coordinates[1:], []).append(node)
    return [sorted(by_domain[domain], key=lambda node: node.coordinates) for domain in sorted(by_domain)]


def planes(fabric: Fabric) -> list[list[Node]]:
    """Return the LRS of each plane: LRS that links inside a rack connect, ordered by the first LRS."""
    import networkx as nx

    rack = {node.name: node.coordinates[2:] for node in fabric.nodes if node.kind is NodeKind.LRS}
    graph = nx.Graph()
    graph.add_nodes_from(rack)
    graph.add_edges_from(
        (link.a.node, link.b.node)
        for link in fabric.links
        if link.a.node in rack and rack[link.a.node] == rack.get(link.b.node)
    )
    parts = nx.connected_components(graph)
    planes_of_racks = [
        sorted((fabric.node(name) for name in part), key=lambda node: node.index) for part in parts
    ]
    return sorted(planes_of_racks, key=lambda plane: plane[0].index)
