# SPDX-License-Identifier: Apache-2.0
"""Entries of the table all_path: the source route of each destination and bucket.

The forwarding scheme chooses the hops of a path that the source route steers (`Steer`). The tables decide the
hops after them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.paths.finder import PathFinder
from controller.paths.source_route import INSTRUCTION_BITS, MAX_HOPS, MAX_INSTRUCTIONS, MAX_PORT, pack
from controller.plan.entry import BUCKETS, Entry, Exact, Path, hops_of
from controller.plan.path_columns import PathColumns
from controller.plan.routes import Routes
from controller.plan.rows import MatchColumn, Rows
from controller.tables.actions import PUSH_ROUTE
from topologies.model.columns import columns

__all__ = ["Ports", "RouteRows", "Steer", "source_route_entries", "steered_ports"]

Ports = Sequence[int | None]
"""Egress ports of a source route, hop by hop; None: the tables decide the hop."""

Steer = Callable[[Path, int], Ports | None]
"""Function of a path and a bucket that returns the ports of the source route, or None for no source route."""


def source_route_entries(
    finder: PathFinder,
    node: str,
    routes: Mapping[str, Sequence[Path | None]],
    steer: Steer,
    *,
    by_bucket: bool = False,
) -> tuple[Entry, ...]:
    """Return the entries of a node's table all_path.

    `routes` has a path for each bucket, by destination; a bucket without a path gets no entry. With
    `by_bucket`, `steer` is called for each bucket; otherwise the ports for bucket 0 serve all buckets of a
    path.

    Raises:
        PlanError: A path does not lead from the node to its destination.
    """
    entries: list[Entry] = []
    for destination, paths in routes.items():
        address = finder.fabric.node(destination).address
        known: dict[tuple[Path, int], tuple[int | None, ...] | None] = {}
        for bucket, path in enumerate(paths):
            if path is None:
                continue
            variant = path, bucket if by_bucket else 0
            if variant not in known:
                if path[0] != node or path[-1] != destination:
                    raise _wrong_path(node, path, destination)
                ports = steer(*variant)
                known[variant] = None if ports is None else tuple(ports)
            if (taken := known[variant]) is not None:
                entries.append(_route_entry(address, bucket, taken))
    return tuple(entries)


@lru_cache(maxsize=1 << 20)
def _route_entry(address: int, bucket: int, ports: tuple[int | None, ...]) -> Entry:
    """Return the entry of a source route; equal entries of several nodes are one object."""
    match = ("dcna", Exact(address)), ("bucket", Exact(bucket))
    return Entry(PUSH_ROUTE.table, match, PUSH_ROUTE.name, PUSH_ROUTE.call(*pack(ports)))


def steered_ports(finder: PathFinder, path: Path) -> Ports:
    """Return the egress ports of a path's hops for its source route.

    The tables decide descending hops after the sixth hop, and descending hops whose port exceeds 255: no
    instruction can name this port, so its element is None.

    Raises:
        PlanError: A hop that does not descend follows the sixth hop, or its port exceeds 255.
    """
    fabric = finder.fabric
    ports = finder.ports_along(path)
    if len(ports) <= MAX_INSTRUCTIONS and max(ports, default=0) <= MAX_PORT:
        return ports
    steered: list[int | None] = []
    for (node, neighbour), port in zip(hops_of(path), ports, strict=True):
        if len(steered) < MAX_INSTRUCTIONS and port <= MAX_PORT:
            steered.append(port)
        elif fabric.node(neighbour).tier >= fabric.node(node).tier:
            raise PlanError(
                f"path {' '.join(path)}: a source route steers up to {MAX_INSTRUCTIONS} hops, by ports up to "
                f"{MAX_PORT}; tables decide only hops that descend, and port {port} of {node} does not",
                remedy="take a shorter path, or a path by lower ports",
            )
        elif len(steered) < MAX_INSTRUCTIONS:
            steered.append(None)
    return steered


@final
class RouteRows:
    """Rows of the table all_path of all nodes, as columns made for all pairs at once.

    `steered` is the number of leading hops of each path to steer, by row of `routes.paths`; the tables decide
    the hops after them.

    Raises:
        PlanError: A path does not lead to its destination, or needs more instructions than a header has.
    """

    def __init__(self, finder: PathFinder, routes: Routes, steered: NDArray[np.int64]) -> None:
        paths = routes.paths
        used = np.zeros(len(paths.nodes), np.bool_)
        used[routes.buckets.reshape(-1)] = True
        _check_ends(paths, used)
        bitmap, instr = _headers(finder, paths, steered, np.flatnonzero(used))
        addresses = columns(finder.fabric).addresses
        match = [
            MatchColumn("dcna", Exact, np.repeat(addresses[paths.pairs.destinations], BUCKETS)),
            MatchColumn("bucket", Exact, np.tile(np.arange(BUCKETS, dtype=np.int32), len(paths))),
        ]
        params = [column[routes.buckets].reshape(-1) for column in (bitmap, instr)]
        self._pairs = paths.pairs
        self._rows = Rows(
            PUSH_ROUTE.table, PUSH_ROUTE.name, match, list(zip(PUSH_ROUTE.params, params, strict=True))
        )

    def of(self, node: str) -> Rows:
        """Return the rows of one node; they are views of the columns, not copies."""
        pairs = self._pairs.of_source(node)
        return self._rows[pairs.start * BUCKETS : pairs.stop * BUCKETS]


def _check_ends(paths: PathColumns, used: NDArray[np.bool_]) -> None:
    """Raise PlanError if a path in use does not lead to the destination of its pair."""
    pairs = paths.pairs
    last = paths.nodes[np.arange(len(paths.nodes)), paths.lengths]
    wrong = used & (last != pairs.destinations[paths.pair_of])
    if wrong.any():
        row = int(np.argmax(wrong))
        source, destination = pairs.name(int(paths.pair_of[row]))
        raise _wrong_path(source, paths.path(row), destination)


def _wrong_path(node: str, path: Path, destination: str) -> PlanError:
    return PlanError(
        f"{node}: path {' '.join(path)} does not lead to {destination}",
        remedy="give a path from the node to the destination",
    )


def _headers(
    finder: PathFinder, paths: PathColumns, steered: NDArray[np.int64], used: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the bitmap and the instructions of the source route of each path; 0 for paths not in `used`."""
    bitmaps, instructions = np.zeros(len(paths.nodes), np.int32), np.zeros(len(paths.nodes), np.int64)
    hops, steered = paths.hops[used, :MAX_INSTRUCTIONS], steered[used]
    ports = np.where(hops >= 0, _working_ports(finder)[hops], 0).astype(np.int64)
    hop = np.arange(hops.shape[1])
    ports[hop >= steered[:, None]] = 0
    shifts = INSTRUCTION_BITS * (MAX_INSTRUCTIONS - 1 - hop)
    instr = (ports << shifts).sum(axis=1)
    bitmap = ((1 << steered) - 1) << np.maximum(MAX_HOPS - steered, 0)
    simple = (steered <= MAX_INSTRUCTIONS) & (ports <= MAX_PORT).all(axis=1)
    for index in np.flatnonzero(~simple).tolist():
        path = paths.path(int(used[index]))[: int(steered[index]) + 1]
        bitmap[index], instr[index] = pack(tuple(steered_ports(finder, path)))
    bitmaps[used], instructions[used] = bitmap, instr
    return bitmaps, instructions


def _working_ports(finder: PathFinder) -> NDArray[np.int32]:
    """Return the egress port of each hop: of parallel links, the port of the first working link."""
    table = columns(finder.fabric)
    if not (finder.failed and finder.fabric.has_parallel):
        return table.ports
    works = np.flatnonzero(np.repeat([link.name not in finder.failed for link in finder.fabric.links], 2))
    first = np.arange(len(table.ports))
    replaced, at = np.unique(table.representative[works], return_index=True)
    first[replaced] = works[at]
    return table.ports[first]
