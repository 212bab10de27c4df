# SPDX-License-Identifier: Apache-2.0
"""Next hops and paths of frames without a source route, read from the table entries of a plan."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

from controller.forwarding.ecmp import EcmpGroup, EcmpTable
from controller.forwarding.pipeline import DropReason, Frame, Pipeline, PortChoice, Tables, frame_hash
from controller.paths.finder import PathFinder
from controller.paths.source_route import MAX_HOPS
from controller.plan.entry import Entry, Path
from topologies import HOST_PORT, Fabric
from topologies.model.computed_once import computed_once

__all__ = ["TableSource", "neighbour_at", "next_hop", "port_choice", "table_path", "table_paths"]


class TableSource(Protocol):
    """Forwarding scheme, as this module uses it: path finder, table entries and groups of the nodes."""

    @property
    def finder(self) -> PathFinder:
        """Path finder over the fabric's working links."""
        ...

    @property
    def cache(self) -> dict[Hashable, object]:
        """Results that `computed_once` stores, by function and arguments."""
        ...

    def address_entries(self, node: str) -> tuple[Entry, ...]:
        """Return a node's table entries for mapping destination addresses to egress ports."""
        ...

    def ecmp_table(self, node: str) -> EcmpTable | None:
        """Return the ECMP groups of a switch; None if callers must read its table entries."""
        ...


def next_hop(
    tables: TableSource, node: str, destination: str, source: str | None = None, lb: int = 0
) -> str | None:
    """Return the next hop of a frame by the tables of a node.

    The result is None at the destination, and if no entry matches. If the node chooses from a group, the hash
    of the two addresses and `lb` selects the member.

    Args:
        tables: Table entries and groups of the nodes.
        node: Node that holds the frame.
        destination: Destination of the frame.
        source: Source of the frame; None stands for `node`.
        lb: Value of the frame's header field lb (load balancing).
    """
    if node == destination:
        return None
    fabric = tables.finder.fabric
    group = _group(tables, node, destination)
    if group is not None:
        scna, dcna = fabric.node(source or node).address, fabric.node(destination).address
        return group.select(frame_hash(scna, dcna, lb))
    action = _routing_action(tables, node, destination)
    if isinstance(action, DropReason):
        return None
    frame = Frame(fabric.node(destination).address, lb, scna=fabric.node(source or node).address)
    port = _pipeline(tables, node).port_of(action, frame)
    return None if isinstance(port, DropReason) else neighbour_at(fabric, node, port)


def port_choice(tables: TableSource, node: str, destination: str) -> PortChoice | None:
    """Return the egress ports among which a node chooses for a destination; None if no entry matches."""
    action = _routing_action(tables, node, destination)
    if isinstance(action, DropReason):
        return None
    choice = _ports_of(tables, node, action)
    return None if isinstance(choice, DropReason) else choice


def neighbour_at(fabric: Fabric, node: str, port: int) -> str | None:
    """Return the neighbour at a port; None for the port to the node's host."""
    if port == HOST_PORT:
        return None
    end = fabric.peer(node, port)
    assert end is not None
    return end.node


def table_path(tables: TableSource, source: str, destination: str, lb: int = 0, begun: Path = ()) -> Path:
    """Return the path on which table entries forward a frame, with at most MAX_HOPS hops.

    The path ends early at a node without a matching entry. `lb` is as in `next_hop`. `begun` is the first
    part of the path, chosen by a source route; if `begun` is empty, the path begins at `source`.
    """
    path = list(begun) or [source]
    path.extend(_hops(tables, path[-1], source, destination, lb, MAX_HOPS + 1 - len(path)))
    return tuple(path)


def table_paths(
    tables: TableSource, source: str, destination: str, begun: Path, lbs: Sequence[int]
) -> list[Path]:
    """Return `table_path` for each value of lb in `lbs`; the group of a switch is looked up once."""
    fabric = tables.finder.fabric
    scna, dcna = fabric.node(source).address, fabric.node(destination).address
    groups: dict[str, EcmpGroup | None] = {destination: EcmpGroup((), 0, 0)}
    paths: list[Path] = []
    stored: dict[Path, Path] = {}  # equal paths share one object
    for lb in lbs:
        path, hashed = list(begun), frame_hash(scna, dcna, lb)
        for _ in range(MAX_HOPS + 1 - len(begun)):
            node = path[-1]
            if node not in groups:
                groups[node] = _group(tables, node, destination)
            group = groups[node]
            if group is None:
                following = next_hop(tables, node, destination, source, lb)
            else:
                following = group.select(hashed)
            if following is None:
                break
            path.append(following)
        paths.append(stored.setdefault(tuple(path), tuple(path)))
    return paths


def _hops(tables: TableSource, node: str, source: str, destination: str, lb: int, most: int) -> Iterator[str]:
    """Yield up to `most` nodes that a frame visits after `node`."""
    for _ in range(most):
        following = next_hop(tables, node, destination, source, lb)
        if following is None:
            return
        yield following
        node = following


def _group(tables: TableSource, node: str, destination: str) -> EcmpGroup | None:
    """Return the ECMP group of a destination at a node; None if the node has no ECMP table."""
    table, finder = tables.ecmp_table(node), tables.finder
    return None if table is None else table.group_of(finder, finder.fabric.node(destination).address)


@computed_once
def _routing_action(tables: TableSource, node: str, destination: str) -> Entry | DropReason:
    """Return the entry that gives a node's port or group for a destination, or the reason of a drop."""
    return _pipeline(tables, node).routing_action(tables.finder.fabric.node(destination).address)


@computed_once
def _ports_of(tables: TableSource, node: str, action: Entry) -> PortChoice | DropReason:
    return _pipeline(tables, node).ports_of(action)


@computed_once
def _pipeline(tables: TableSource, node: str) -> Pipeline:
    """Return a node's pipeline with the entries that map addresses to egress ports."""
    return Pipeline(Tables(tables.address_entries(node)))
