# SPDX-License-Identifier: Apache-2.0
"""Next hops and paths of frames without a source route, read from the table entries of a plan."""

from collections.abc import Iterator, Sequence

from controller.plan.entry import Entry, Path
from controller.routing.paths import PathFinder
from controller.routing.source_route import MAX_HOPS
from controller.tables.ecmp import EcmpGroup, chooses_by_hash, ecmp_group
from controller.tables.node_entries import linear_entries
from controller.tables.pipeline import DropReason, Frame, Pipeline, PortChoice, Tables, frame_hash
from topologies import HOST_PORT, Fabric

__all__ = ["neighbour_at", "next_hop", "port_choice", "table_path", "table_paths"]


def next_hop(
    finder: PathFinder, node: str, destination: str, source: str | None = None, lb: int = 0
) -> str | None:
    """Return the neighbour to which the tables of a node send a frame.

    None at the destination and where no entry matches. A group selects the member of a frame with that `lb`
    from `source`, by default from the node itself.
    """
    if node == destination:
        return None
    fabric = finder.fabric
    if chooses_by_hash(fabric, node):
        scna, dcna = fabric.node(source or node).address, fabric.node(destination).address
        return ecmp_group(finder, node, dcna).select(frame_hash(scna, dcna, lb))
    action = _routing_action(finder, node, destination)
    if isinstance(action, DropReason):
        return None
    frame = Frame(fabric.node(destination).address, lb, scna=fabric.node(source or node).address)
    port = finder.cached_for(node, _pipeline).port_of(action, frame)
    return None if isinstance(port, DropReason) else neighbour_at(fabric, node, port)


def port_choice(finder: PathFinder, node: str, destination: str) -> PortChoice | None:
    """Return the egress ports that the hash chooses from at a node; None where no entry matches."""
    action = _routing_action(finder, node, destination)
    if isinstance(action, DropReason):
        return None
    pipeline = finder.cached_for(node, _pipeline)
    choice = finder.cached(("ports of", node, action), lambda: pipeline.ports_of(action))
    return None if isinstance(choice, DropReason) else choice


def neighbour_at(fabric: Fabric, node: str, port: int) -> str | None:
    """Return the node at the other end of a port; None for the node's host."""
    if port == HOST_PORT:
        return None
    end = fabric.peer(node, port)
    assert end is not None
    return end.node


def table_path(finder: PathFinder, source: str, destination: str, lb: int = 0, begun: Path = ()) -> Path:
    """Return the path of a frame without a source route; it ends early at a node without an entry for it.

    `begun` is the part of the path that a source route has steered.
    """
    path = list(begun) or [source]
    path.extend(_hops(finder, path[-1], source, destination, lb, MAX_HOPS + 1 - len(path)))
    return tuple(path)


def table_paths(
    finder: PathFinder, source: str, destination: str, begun: Path, lbs: Sequence[int]
) -> list[Path]:
    """Return `table_path` of each of the values of lb; a switch on several paths is looked up once."""
    fabric = finder.fabric
    scna, dcna = fabric.node(source).address, fabric.node(destination).address
    groups: dict[str, EcmpGroup | None] = {destination: EcmpGroup((), 0, 0)}
    paths: list[Path] = []
    stored: dict[Path, Path] = {}  # equal paths are one object
    for lb in lbs:
        path, hashed = list(begun), frame_hash(scna, dcna, lb)
        for _ in range(MAX_HOPS + 1 - len(begun)):
            node = path[-1]
            if node not in groups:
                groups[node] = ecmp_group(finder, node, dcna) if chooses_by_hash(fabric, node) else None
            group = groups[node]
            if group is None:
                following = next_hop(finder, node, destination, source, lb)
            else:
                following = group.select(hashed)
            if following is None:
                break
            path.append(following)
        paths.append(stored.setdefault(tuple(path), tuple(path)))
    return paths


def _hops(finder: PathFinder, node: str, source: str, destination: str, lb: int, most: int) -> Iterator[str]:
    for _ in range(most):
        following = next_hop(finder, node, destination, source, lb)
        if following is None:
            return
        yield following
        node = following


def _routing_action(finder: PathFinder, node: str, destination: str) -> Entry | DropReason:
    """Return the entry that names a port or a group for a destination."""

    def look() -> Entry | DropReason:
        address = finder.fabric.node(destination).address
        return finder.cached_for(node, _pipeline).routing_action(address)

    return finder.cached(("routing action", node, destination), look)


def _pipeline(finder: PathFinder, node: str) -> Pipeline:
    """Return a node's pipeline with the entries that map addresses to egress ports."""
    return Pipeline(Tables(linear_entries(finder, node)))
