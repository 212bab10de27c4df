# SPDX-License-Identifier: Apache-2.0
"""Table entries of one node, whatever its P4 program: the one place where a plan's entries are made.

Each table and the function that decides its rows; a program has only the tables that it needs:

    arrival, departure, vl_turn    turn rules, every program     controller.deadlock.turn_rules.turn_entries
    segment, linear                structured addresses          `linear_entries`, from linear.segments
    rail                           switches on a rail            `linear_entries`, from rails
    multipath                      groups of equal next hops     `linear_entries`, from multipath
    pxn_segment, pxn               GPUs that relay               `linear_entries`, from pxn
    all_path                       source routes, endpoints      `all_path_entries`

An LRS has rows of the first two lines: what lies below it, the mesh of its tier, and the default upwards.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from operator import is_

from controller.deadlock.turn_rules import RuleSet, turn_entries
from controller.errors import PlanError
from controller.plan.entry import BUCKETS, Entry, Exact, Lpm, Match, Params, Path, Strategy, Ternary
from controller.reuse import Kept
from controller.routing.general.order import is_graph
from controller.routing.paths import PathFinder, hops_of, ocs_dimensions, until_first_switch
from controller.routing.source_route import MAX_INSTRUCTIONS, MAX_PORT, pack
from controller.tables.graph import graph_path_entries
from controller.tables.linear import pxn_table, rail_table, segments
from controller.tables.multipath import expand_parallel_links, group_entry, group_size, hash_shift
from controller.tables.pxn import pxn_entries
from controller.tables.segment import EgressPort, NextHops, TernarySegment
from topologies import HOST_PORT

__all__ = ["TABLES", "all_path_entries", "linear_entries", "node_entries"]

# Tables that `linear_entries` fills.
TABLES = ("segment", "linear", "rail", "multipath", "pxn_segment", "pxn")


def node_entries(
    finder: PathFinder,
    rules: RuleSet,
    node: str,
    routes: Mapping[str, Sequence[Path | None]],
    strategy: Strategy,
    kept: Kept | None = None,
) -> tuple[Entry, ...]:
    """Return all table entries of one node; `routes` are its 16 source routes by destination.

    Entries that equal those of the previous plan of which parts are `kept` are the same objects, and so is
    the tuple of all entries where other circuits change none.
    """
    same = None if kept is None else kept.entries_of(node, routes)
    if same is not None:
        return same
    tables = None if kept is None else kept.table_entries(node)
    if tables is None:
        tables = (*turn_entries(rules, finder.fabric, node), *linear_entries(finder, node))
    entries = (*tables, *all_path_entries(finder, node, routes, strategy, kept))
    return entries if kept is None else kept.same_entries(node, entries)


def linear_entries(finder: PathFinder, node: str) -> tuple[Entry, ...]:
    """Return the entries of the tables that map addresses to egress ports; see `TABLES`.

    Equal arrays of next hops are stored once, and so are equal groups.
    """
    lookups: list[Entry] = []
    results: list[Entry] = []
    bases: dict[NextHops, int] = {}
    groups: dict[tuple[EgressPort, ...], int] = {}
    base = 0
    first = finder.cached_for(node, rail_table)
    for number, segment in enumerate((*first, *segments(finder, node))):
        # An array has a place for every value of the mask: no address, valid or not, reads another array.
        if segment.next_hops and segment.next_hops not in bases:
            bases[segment.next_hops] = base
            results += _array_entries(finder, node, base, segment.next_hops, groups)
            base += segment.mask + 1
        action = (("base", bases.get(segment.next_hops, 0)), ("shift", segment.shift), ("mask", segment.mask))
        if isinstance(segment, TernarySegment):
            key = (("dcna", Ternary(segment.value, segment.ternary_mask)),)
            call = ("set_rail", action) if segment.next_hops else ("foreign_rail", ())
            lookups.append(Entry("rail", key, *call, priority=len(first) - number))
        else:
            match = (("dcna", Lpm(*segment.prefix)),) if segment.prefix.length else ()
            lookups.append(Entry("segment", match, "set_segment", action))
    results += [group_entry(finder, node, number, group) for group, number in groups.items()]
    return (*lookups, *results, *pxn_entries(finder, node, finder.cached_for(node, pxn_table)))


def _array_entries(
    finder: PathFinder, node: str, base: int, array: NextHops, groups: dict[tuple[EgressPort, ...], int]
) -> list[Entry]:
    """Return the entries of one array; adds a new group to `groups`, behind the existing groups."""
    fabric = finder.fabric
    entries: list[Entry] = []
    for value, planned in enumerate(array):
        next_hop = expand_parallel_links(finder, node, planned)
        if isinstance(next_hop, str):
            port = HOST_PORT if next_hop == node else finder.port_to(node, next_hop)
            entries.append(_port_entry(base + value, port))
        elif next_hop is not None:
            group = groups.setdefault(next_hop, len(groups))
            shift = hash_shift(fabric, node, finder.hashing)
            match = (("index", Exact(base + value)),)
            params = ("group", group), ("shift", shift), ("mask", group_size(len(next_hop)) - 1)
            entries.append(Entry("linear", match, "set_group", params))
    return entries


def all_path_entries(
    finder: PathFinder,
    node: str,
    routes: Mapping[str, Sequence[Path | None]],
    strategy: Strategy = "all-path",
    kept: Kept | None = None,
) -> tuple[Entry, ...]:
    """Return the entries of a node's table all_path for these destinations; a bucket of None has none.

    A route takes the first of parallel links that has not failed. A source route ends where tables decide:
    at the circuits of an optical core, and at the first switch with the strategy `hashed`. With the strategy
    `tables` there are no source routes. Routes of a previous plan that stay keep their entries.
    """
    fabric = finder.fabric
    if is_graph(fabric):
        return graph_path_entries(finder, node, routes)
    if strategy == "tables":
        return ()
    entries: list[Entry] = []
    earlier = {} if kept is None else _earlier_entries(kept, node)
    for destination, paths in routes.items():
        keys = _all_path_keys(fabric.node(destination).address)
        planned, same = earlier.get(destination, _NO_ENTRIES)
        if same and same[0].match is keys[0] and all(map(is_, paths, planned)):
            entries += same
            continue
        params: dict[Path, Params] = {}
        for path in dict.fromkeys(paths):
            if path is None:
                continue
            if path[0] != node or path[-1] != destination:
                raise PlanError(
                    f"{node}: path {' '.join(path)} does not lead to {destination}", remedy="fix the routes"
                )
            steered = until_first_switch(fabric, path) if strategy == "hashed" else path
            params[path] = _route_parameters(tuple(_steered_ports(finder, steered)))
        chosen = zip(keys, paths, strict=True)
        entries += [_route_entry(key, params[path]) for key, path in chosen if path is not None]
    return tuple(entries)


_NO_ENTRIES: tuple[tuple[Path, ...], tuple[Entry, ...]] = (), ()


def _earlier_entries(kept: Kept, node: str) -> dict[str, tuple[tuple[Path, ...], tuple[Entry, ...]]]:
    """Return the planned paths and entries of the buckets, by destination.

    Empty where a failure may have changed which of parallel links a path takes.
    """
    plan = kept.previous
    routes = plan.routes_from(node)
    entries = plan.entries[node]
    first = len(entries) - BUCKETS * len(routes)
    if first < 0 or not all(e.table == "all_path" for e in entries[first:]):
        return {}
    if plan.fabric.has_parallel and not kept.circuits:
        return {}
    return {
        destination: (paths, entries[start : start + BUCKETS])
        for start, (destination, paths) in zip(count(first, BUCKETS), routes.items(), strict=False)
    }


# Entries and keys that many nodes have are one object: plans of large fabrics consist of them.

_BUCKETS = tuple(("bucket", Exact(bucket)) for bucket in range(BUCKETS))


@lru_cache(maxsize=1 << 14)
def _all_path_keys(address: int) -> tuple[tuple[tuple[str, Match], ...], ...]:
    """Return the keys of the 16 source routes to an address."""
    dcna = ("dcna", Exact(address))
    return tuple((dcna, bucket) for bucket in _BUCKETS)


@lru_cache(maxsize=1 << 16)
def _route_parameters(ports: tuple[int | None, ...]) -> Params:
    """Return the parameters of push_route for a source route by these egress ports."""
    bitmap, instr = pack(ports)
    return ("bitmap", bitmap), ("instr", instr)


_MOST_KNOWN = 1 << 20
_route_entries: dict[tuple[int, int], Entry] = {}  # by the identities of match and parameters


def _route_entry(match: tuple[tuple[str, Match], ...], params: Params) -> Entry:
    """Return the entry of a source route; match and parameters come from the two functions above."""
    both = id(match), id(params)
    entry = _route_entries.get(both)
    if entry is None:
        if len(_route_entries) >= _MOST_KNOWN:
            _route_entries.clear()
        entry = _route_entries[both] = Entry("all_path", match, "push_route", params)
    return entry


@lru_cache(maxsize=1 << 16)
def _port_entry(index: int, port: int) -> Entry:
    """Return the entry of an array of next hops that names a port."""
    return Entry("linear", (("index", Exact(index)),), "set_port", (("port", port),))


def _steered_ports(finder: PathFinder, path: Path) -> Sequence[int | None]:
    """Return the egress ports of the hops that need an instruction; the hops after them all descend.

    None stands for a descent by a port that no instruction can name: the tables decide that hop as well.
    """
    fabric = finder.fabric
    if core := ocs_dimensions(fabric):
        inside = (
            place for place, (node, other) in enumerate(hops_of(path)) if node in core and other in core
        )
        path = path[: next(inside, len(path)) + 1]
    ports = finder.ports_along(path)
    if len(ports) <= MAX_INSTRUCTIONS and max(ports, default=0) <= MAX_PORT:
        return ports
    steered: list[int | None] = []
    for (node, neighbour), port in zip(hops_of(path), ports, strict=True):
        if len(steered) < MAX_INSTRUCTIONS and port <= MAX_PORT:
            steered.append(port)
        elif fabric.node(neighbour).tier >= fabric.node(node).tier:
            raise PlanError(
                f"path {' '.join(path)}: a source route steers {MAX_INSTRUCTIONS} hops by ports up to "
                f"{MAX_PORT}, and port {port} of {node} does not descend",
                remedy="take a shorter path",
            )
        elif len(steered) < MAX_INSTRUCTIONS:
            steered.append(None)
    return steered
