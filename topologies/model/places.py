# SPDX-License-Identifier: Apache-2.0
"""Boards, racks, domains and planes of a fabric, derived from coordinates and links."""

from topologies.model.fabric import Fabric, Node, NodeKind

__all__ = ["NIC", "boards", "domains", "nic_ports", "planes", "racks"]

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
    """Return the NIC ports of an endpoint, which lead out of its domain; empty for any other node."""
    return tuple(port.number for port in node.ports if port.name.startswith(NIC) and not node.is_switch)


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
