# SPDX-License-Identifier: Apache-2.0
"""Entries of the tables arrival, departure and vl_turn, by which a switch applies turn rules."""

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from controller.deadlock.turn_rules import ENTRY_VLS, HOST, Direction, RuleSet
from controller.plan.entry import CPU_PORT, Entry, Exact
from controller.tables.actions import ARRIVE, DEPART, SET_VL
from topologies import HOST_PORT, Fabric
from topologies.model.columns import columns
from topologies.model.computed_once import computed_for_any_circuits, computed_once

__all__ = ["turn_entries"]


def turn_entries(rules: RuleSet, fabric: Fabric, node: str) -> tuple[Entry, ...]:
    """Return the entries of the tables arrival, departure and vl_turn of one node.

    Nodes whose ports have the same directions get the same object.
    """
    known, ports = _known_entries(fabric), _known_directions(fabric)
    if rules.name not in ports:
        ports[rules.name] = _PortDirections(rules, fabric)
    key = rules.name, ports[rules.name].of(fabric.node(node).index)
    if key not in known:
        known[key] = _entries(rules, known, *key[1])
    return known[key]


@computed_for_any_circuits
def _known_entries(_: Fabric) -> dict[Hashable, tuple[Entry, ...]]:
    """Return the cache of entries: by name of the rules, and by ports with their directions or directions."""
    return {}


@computed_once
def _known_directions(_: Fabric) -> "dict[str, _PortDirections]":
    """Return the cache of directions of ports, by name of the rules."""
    return {}


class _PortDirections:
    """Ports of all nodes, with the directions of the hops that arrive and leave by them."""

    def __init__(self, rules: RuleSet, fabric: Fabric) -> None:
        hops = columns(fabric)
        order = np.lexsort((hops.ports, hops.tails))
        codes = rules.order.directions(fabric)
        self._ports, self._leaving = hops.ports[order], codes[order]
        self._arriving = codes[order ^ 1]  # a link has two hops, one after the other
        self._first = np.searchsorted(hops.tails[order], np.arange(len(fabric.nodes) + 1))

    def of(self, node: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the ports of a node, and the directions of the arriving and the leaving hop of each port."""
        own = slice(self._first[node], self._first[node + 1])
        return (
            tuple(self._ports[own].tolist()),
            tuple(self._arriving[own].tolist()),
            tuple(self._leaving[own].tolist()),
        )


def _entries(
    rules: RuleSet,
    known: dict[Hashable, tuple[Entry, ...]],
    ports: Sequence[int],
    arriving: Sequence[int],
    leaving: Sequence[int],
) -> tuple[Entry, ...]:
    entries = [*(_arrive(port, HOST) for port in (HOST_PORT, CPU_PORT)), _depart(HOST_PORT, HOST)]
    arrivals, departures = (
        [Direction(code >> 1, bool(code & 1)) for code in codes] for codes in (arriving, leaving)
    )
    for port, comes, goes in zip(ports, arrivals, departures, strict=True):
        entries += [_arrive(port, comes), _depart(port, goes)]
    both = tuple(_node_directions(rules, directions) for directions in (arrivals, departures))
    if (rules.name, both) not in known:
        known[rules.name, both] = _vl_turn(rules, *both)
    return (*entries, *known[rules.name, both])


def _node_directions(rules: RuleSet, seen: Iterable[Direction]) -> tuple[Direction, ...]:
    """Return the sorted directions of a node's hops after HOST; mesh groups count with both directions.

    All members of a mesh then have the same directions in its group.
    """
    meshes = rules.order.meshes
    directions = set(seen)
    directions |= {
        Direction(direction.group, up)
        for direction in directions
        if direction.group in meshes
        for up in (False, True)
    }
    return (HOST, *sorted(directions))


@lru_cache(maxsize=1 << 12)
def _arrive(port: int, direction: Direction) -> Entry:
    return ARRIVE.entry((("port", Exact(port)),), direction.group, int(direction.up))


@lru_cache(maxsize=1 << 12)
def _depart(port: int, direction: Direction) -> Entry:
    return DEPART.entry((("port", Exact(port)),), direction.group, int(direction.up))


def _vl_turn(
    rules: RuleSet, arrivals: Sequence[Direction], departures: Sequence[Direction]
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for arriving in arrivals:
        for leaves in departures:
            for entry_vl in ENTRY_VLS:
                # A source chooses no VL: a frame from a node's host is on the first VL of its class.
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
    return SET_VL.entry(match, leaving)
