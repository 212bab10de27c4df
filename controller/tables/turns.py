# SPDX-License-Identifier: Apache-2.0
"""Entries of the tables arrival, departure and vl_turn, by which a switch applies turn rules."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from controller.deadlock.turn_rules import ENTRY_VLS, HOST, Direction, RuleSet
from controller.plan.entry import CPU_PORT, Entry, Exact
from topologies import HOST_PORT, Fabric

__all__ = ["turn_entries"]


def turn_entries(rules: RuleSet, fabric: Fabric, node: str) -> tuple[Entry, ...]:
    """Return the entries of the tables arrival, departure and vl_turn of one node."""
    local = HOST_PORT, CPU_PORT
    arrivals, leaving = {}, {}
    for neighbour in fabric.neighbours(node):
        for port in fabric.ports_to(node, neighbour):
            arrivals[port] = rules.direction(fabric, neighbour, node)
            leaving[port] = rules.direction(fabric, node, neighbour)
    entries = [_arrive(port, HOST) for port in local]
    entries.append(_depart(HOST_PORT, HOST))
    for port, arriving in arrivals.items():
        entries.append(_arrive(port, arriving))
        entries.append(_depart(port, leaving[port]))
    ways = tuple(_node_directions(rules, arrivals.values())), tuple(_node_directions(rules, leaving.values()))
    # Nodes of one kind have them alike.
    return (*entries, *fabric.cached(("vl_turn", rules.name, ways), lambda: _vl_turn(rules, *ways)))


def _node_directions(rules: RuleSet, seen: Iterable[Direction]) -> list[Direction]:
    """Directions of a node's hops, in order; of its mesh groups both, which all members then have alike."""
    meshes = rules.order.meshes
    directions = set(seen)
    directions |= {
        Direction(way.group, up) for way in directions if way.group in meshes for up in (False, True)
    }
    return [HOST, *sorted(directions)]


# Entries of equal ports and directions are one object: nodes of a kind have them alike.


@lru_cache(maxsize=1 << 12)
def _arrive(port: int, way: Direction) -> Entry:
    return Entry("arrival", (("port", Exact(port)),), "arrive", (("group", way.group), ("up", int(way.up))))


@lru_cache(maxsize=1 << 12)
def _depart(port: int, way: Direction) -> Entry:
    return Entry("departure", (("port", Exact(port)),), "depart", (("group", way.group), ("up", int(way.up))))


def _vl_turn(
    rules: RuleSet, arrivals: Sequence[Direction], departures: Sequence[Direction]
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for arriving in arrivals:
        for leaves in departures:
            for entry_vl in ENTRY_VLS:
                # A source names no VL, so a frame from a node's host is on the first of its class.
                last = entry_vl + (1 if arriving == HOST else rules.vls)
                for vl in range(entry_vl, last):
                    leaving = rules.next_vl(arriving, leaves, vl)
                    if leaving is not None:
                        entries.append(_turn(arriving, leaves, vl, leaving))
    return tuple(entries)


def _turn(arriving: Direction, leaves: Direction, vl: int, leaving: int) -> Entry:
    match = (
        ("in_group", Exact(arriving.group)),
        ("in_up", Exact(int(arriving.up))),
        ("out_group", Exact(leaves.group)),
        ("out_up", Exact(int(leaves.up))),
        ("vl", Exact(vl)),
    )
    return Entry("vl_turn", match, "set_vl", (("vl", leaving),))
