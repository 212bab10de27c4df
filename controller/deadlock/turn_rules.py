# SPDX-License-Identifier: Apache-2.0
"""Turn rules: the turns that a frame may take, and the virtual lane (VL) on which it leaves (UB-Mesh, TFC).

The paper leaves out the details of its turn and VL rules; these are this project's own. Every hop is of a
group, and the groups of a route rise: it moves in the mesh of its tier, climbs to the switches, climbs
among them, moves in the mesh that they form, and comes down the same way (docs/reference/deadlock.md). VLs
start afresh in each group. A hop goes up when its coordinate or its tier grows, down when it falls. Inside a
group one of three things counts against the VLs:

    valley  a down hop followed directly by an up hop: a path of up to three hops has at most one
    step    every hop after the first: with a group a dimension, dimension order and detours
    free    nothing: no protection at all, the negative control

Rules of a user's own are a table of turns instead (`rules_of_turns`).

With `valley`, channels ordered by (group, VL, rank) rise along every path, the rank of a hop up from node p
being the sum of p's coordinates, or its tier, and of a hop down the largest such sum twice, plus one, minus
it: so no cycle can close. On a graph without such structure all hops are of one group, and ranks of nodes
take the place of coordinates (controller.routing.general.order). Steps count
in meshes only; between tiers valleys do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.plan.entry import CPU_PORT, Entry, Exact, Path
from controller.routing.general.order import is_graph, ranks
from controller.routing.paths import hops_of
from topologies import HOST_PORT, Fabric, Node
from topologies.model.columns import NO_DIMENSION, columns

__all__ = [
    "CLASS_VLS",
    "ENTRY_VLS",
    "HOST",
    "Direction",
    "RuleSet",
    "Turns",
    "VlIncrement",
    "direction",
    "hop_directions",
    "rule_names",
    "rule_set",
    "rules_of_turns",
    "turn_entries",
]

# VLs of a traffic class; data has VL 0 and 1, responses and management 2 and 3.
CLASS_VLS = 2

# The VL on which each class enters the fabric.
ENTRY_VLS = (0, 2)

# Groups that the tables' 3 bits can name beside 0, the host.
_MAX_GROUPS = 7

# Group of all hops of a graph.
_GRAPH_GROUP = 1

# What a hop does, in the order of a route: ascending, at each level, then descending.
_AMONG, _MESH, _LEAVE = 1, 2, 3

Stage = tuple[bool, int, int, int]
"""(descends, level or minus it, what, which mesh group of dimensions): sorts in the order of a route."""


class Direction(NamedTuple):
    """The way a hop goes: its group (0: to or from a node's host) and whether its coordinate grows."""

    group: int
    up: bool


HOST = Direction(0, False)

Turns = Mapping[tuple[Direction, Direction, int], int]
"""Lane within its class on which a frame leaves, by arriving direction, leaving direction and lane."""


class VlIncrement(Enum):
    """Event that moves a frame to the next VL of its class."""

    VALLEY = "valley"
    STEP = "step"
    FREE = "free"
    TABLE = "table"


@final
@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules of one fabric: mesh groups of dimensions, VLs used of a class, what counts, all in route order.

    `stages` are the kinds of hops of the fabric and the number of the group of each, from 1; `meshes` are
    the numbers of those that move within a mesh. `turns` counts if `increment` is TABLE.
    """

    name: str
    groups: tuple[tuple[int, ...], ...]
    vls: int
    increment: VlIncrement
    stages: dict[Stage, int]
    meshes: frozenset[int]
    turns: Turns = field(default_factory=dict)
    # Paths have few different sequences of directions, and their VLs follow from these alone.
    _known_vls: "dict[tuple[tuple[Direction, ...], int], tuple[int, ...] | None]" = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def up_first(self) -> bool:
        """Return whether tables must send up hops first: minimal paths with too many valleys exist.

        A minimal path over n dimensions of a group has up to n // 2 valleys, and each takes a VL.
        """
        widest = max((len(group) for group in self.groups), default=0)
        return self.increment is VlIncrement.VALLEY and widest // 2 >= self.vls

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the groups that the fabric has."""
        return tuple(sorted(set(self.stages.values())))

    def next_vl(self, arriving: Direction, leaves: Direction, vl: int) -> int | None:
        """Return the VL on which a frame leaves, or None for a forbidden turn."""
        if self.increment is VlIncrement.TABLE and leaves != HOST:
            following = self.turns.get((arriving, leaves, vl % CLASS_VLS))
            return None if following is None else vl - vl % CLASS_VLS + following
        if HOST.group in (arriving.group, leaves.group) or self.increment is VlIncrement.FREE:
            return vl
        base = vl - vl % CLASS_VLS
        if leaves.group != arriving.group:
            return base if leaves.group > arriving.group else None
        valley = leaves.up and not arriving.up
        counts = valley or (self.increment is VlIncrement.STEP and leaves.group in self.meshes)
        leaving = vl + counts
        return leaving if leaving < base + self.vls else None

    def vls_of(self, fabric: Fabric, path: Path, entry_vl: int = 0) -> tuple[int, ...] | None:
        """Return the VL of every hop of a path, or None if a turn is forbidden."""
        known = _known_directions(self, fabric)
        ways = tuple([known.get(hop) or direction(self, fabric, *hop) for hop in hops_of(path)])
        key = ways, entry_vl
        if key not in self._known_vls:
            self._known_vls[key] = self._vls_along(*key)
        return self._known_vls[key]

    def _vls_along(self, ways: Sequence[Direction], entry_vl: int) -> tuple[int, ...] | None:
        """Return the VL of every hop by the directions of the hops, or None if a turn is forbidden."""
        arriving, vl, vls = HOST, entry_vl, []
        for leaves in ways:
            following = self.next_vl(arriving, leaves, vl)
            if following is None:
                return None
            vls.append(following)
            arriving, vl = leaves, following
        return tuple(vls)


def rule_names() -> tuple[str, ...]:
    """Return the names that `rule_set` takes."""
    return ("T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR", "single-vl")


def rule_set(name: str, fabric: Fabric) -> RuleSet:
    """Return the named rules on a fabric; PlanError lists the names if the name is unknown.

    Dimension order takes the highest dimension of a group first, as the tables do: a longest prefix match on
    the address finds the highest dimension in which a destination differs.

    T2-G: 2 VLs, at most one valley in each of the fabric's groups. T2-V: the same with all dimensions in
    one group. T2-DOR: 2 VLs, dimension order with a detour in each. T1-UD: 1 VL, all up hops before all
    down hops. T1-DOR+: 1 VL, dimension order with detours that have no valley. T1-DOR: 1 VL, one hop a
    dimension. single-vl: anything on 1 VL, which can deadlock.
    """
    flat = (tuple(range(len(fabric.dims))),)
    ordered = tuple((dimension,) for group in fabric.groups for dimension in reversed(group))
    if is_graph(fabric):
        return _graph_rules(name, fabric)
    known = {
        "T2-G": (fabric.groups, 2, VlIncrement.VALLEY),
        "T2-V": (flat, 2, VlIncrement.VALLEY),
        "T2-DOR": (ordered, 2, VlIncrement.STEP),
        "T1-UD": (flat, 1, VlIncrement.VALLEY),
        "T1-DOR+": (ordered, 1, VlIncrement.VALLEY),
        "T1-DOR": (ordered, 1, VlIncrement.STEP),
        "single-vl": (flat, 1, VlIncrement.FREE),
    }
    if name not in known:
        raise PlanError(f"no turn rules named {name!r}", remedy=f"there are {', '.join(rule_names())}")
    groups, vls, turn = known[name]
    stages = _number_stages(_stages(fabric, groups))
    if len(set(stages.values())) > _MAX_GROUPS:
        raise PlanError(
            f"rules {name}: {len(set(stages.values()))} groups of hops, and the tables name {_MAX_GROUPS}",
            remedy="use fewer dimensions or rules T2-G",
        )
    meshes = frozenset(number for stage, number in stages.items() if stage[2] == _MESH)
    return RuleSet(name, groups, vls, turn, stages, meshes)


def rules_of_turns(name: str, fabric: Fabric, turns: Turns) -> RuleSet:
    """Return rules of a user's own on a full mesh: a table of turns, with dimension d as group d + 1.

    Raises:
        PlanError: The fabric has switches, or a turn leaves on a lane that its class lacks.
    """
    groups = tuple((dimension,) for dimension in range(len(fabric.dims)))
    stages = _stages(fabric, groups)
    if is_graph(fabric) or any(stage[2] != _MESH for stage in stages):
        raise PlanError(
            f"rules {name}: {fabric.name} is no full mesh", remedy="give a fabric of meshes alone"
        )
    for (arriving, leaves, lane), following in turns.items():
        if not 0 <= following < CLASS_VLS:
            raise PlanError(
                f"rules {name}: the turn {arriving} to {leaves} on lane {lane} leaves on lane {following}",
                remedy=f"lanes are 0 to {CLASS_VLS - 1}",
            )
    numbers = _number_stages(stages)
    return RuleSet(
        name, groups, CLASS_VLS, VlIncrement.TABLE, numbers, frozenset(numbers.values()), dict(turns)
    )


def _graph_rules(name: str, fabric: Fabric) -> RuleSet:
    """Return the named rules on a graph, whose hops are all of one group and go up or down by ranks."""
    known = {
        "T2-G": (2, VlIncrement.VALLEY),
        "T2-V": (2, VlIncrement.VALLEY),
        "T1-UD": (1, VlIncrement.VALLEY),
        "single-vl": (1, VlIncrement.FREE),
    }
    if name not in known:
        words = "are no turn rules" if name not in rule_names() else "need dimensions"
        raise PlanError(
            f"rules {name} {words}; {fabric.name} is routed as a graph", remedy=f"use {', '.join(known)}"
        )
    vls, increment = known[name]
    group = (tuple(range(len(fabric.dims))),)
    return RuleSet(name, group, vls, increment, {_mesh(0, 0): _GRAPH_GROUP}, frozenset({_GRAPH_GROUP}))


def direction(rules: RuleSet, fabric: Fabric, node: str, neighbour: str) -> Direction:
    """Return the direction of the hop from a node to a neighbour."""
    known = _known_directions(rules, fabric)
    cached = known.get((node, neighbour))
    if cached is None:
        cached = known[node, neighbour] = _direction(rules, fabric, node, neighbour)
    return cached


def _known_directions(rules: RuleSet, fabric: Fabric) -> dict[tuple[str, str], Direction]:
    """Return the directions of hops that are known already, by hop."""
    return fabric.cached(("directions", rules.name), dict)


def _direction(rules: RuleSet, fabric: Fabric, node: str, neighbour: str) -> Direction:
    if is_graph(fabric):
        rank = ranks(fabric)
        return Direction(_GRAPH_GROUP, rank[neighbour] > rank[node])
    dimension = fabric.link_between(node, neighbour).dimension
    a, b = fabric.node(node), fabric.node(neighbour)
    goes_up = b.tier > a.tier if dimension is None else b.coordinates[dimension] > a.coordinates[dimension]
    return Direction(rules.stages[_stage(a, b, dimension, rules.groups)], goes_up)


def hop_directions(rules: RuleSet, fabric: Fabric) -> NDArray[np.int32]:
    """Return the direction of every hop of a fabric, as 2 * group + 1 if it goes up, by hop number."""
    hops = columns(fabric)
    if is_graph(fabric):
        rank = ranks(fabric)
        height = np.array([rank[name] for name in hops.names])
        return 2 * _GRAPH_GROUP + (height[hops.heads] > height[hops.tails]).astype(np.int32)
    tail_tier, head_tier = hops.tiers[hops.tails], hops.tiers[hops.heads]
    # Hops of one shape have one stage; a fabric has few shapes.
    shape = np.stack(
        [hops.levels[hops.tails], tail_tier, hops.levels[hops.heads], head_tier, hops.dimensions]
    )
    _, first, kind = np.unique(shape, axis=1, return_index=True, return_inverse=True)
    groups = [
        rules.stages[
            _stage(
                fabric.nodes[hops.tails[hop]],
                fabric.nodes[hops.heads[hop]],
                None if hops.dimensions[hop] == NO_DIMENSION else int(hops.dimensions[hop]),
                rules.groups,
            )
        ]
        for hop in first.tolist()
    ]
    axis = np.maximum(hops.dimensions, 0)
    among = hops.coordinates[hops.heads, axis] > hops.coordinates[hops.tails, axis]
    up = np.where(hops.dimensions == NO_DIMENSION, head_tier > tail_tier, among)
    return (2 * np.array(groups, np.int32)[kind.reshape(-1)] + up).astype(np.int32)


def _stages(fabric: Fabric, groups: tuple[tuple[int, ...], ...]) -> set[Stage]:
    """Return the kinds of hops of a fabric; possible circuits count like links."""
    stages: set[Stage] = set()
    seen: set[tuple[int, int, int, int, int | None]] = set()
    for link in fabric.links:
        a, b = fabric.node(link.a.node), fabric.node(link.b.node)
        shape = (a.level, a.tier, b.level, b.tier, link.dimension)
        if shape not in seen:
            seen.add(shape)
            stages |= {_stage(a, b, link.dimension, groups), _stage(b, a, link.dimension, groups)}
    for end in (end for switch in fabric.optical for end in switch.ends):
        node = fabric.node(end.node)
        axis = next((port.dimension for port in node.ports if port.number == end.port), None)
        if axis is not None:
            stages.add(_stage(node, node, axis, groups))
    return stages or {_mesh(0, number) for number in range(len(groups))}


def _stage(node: Node, neighbour: Node, dimension: int | None, groups: tuple[tuple[int, ...], ...]) -> Stage:
    height = node.level
    if dimension is not None:
        return _mesh(height, next(number for number, group in enumerate(groups) if dimension in group))
    what = _AMONG if neighbour.level == height else _LEAVE
    # Inside a domain both ways come before any climb, as in a mesh.
    if neighbour.tier > node.tier or (not height and what == _AMONG):
        return (False, height, what, 0)
    return (True, -height, what, 0)


def _mesh(height: int, number: int) -> Stage:
    return (False, height, _MESH, number)


def _number_stages(stages: set[Stage]) -> dict[Stage, int]:
    """Numbers from 1 in route order. The last climb and the first descent share one: between is the top."""
    numbers: dict[Stage, int] = {}
    number = 0
    before: Stage | None = None
    for stage in sorted(stages):
        top = before is not None and stage[0] and not before[0] and before[2] != _MESH
        number += not top
        numbers[stage] = number
        before = stage
    return numbers


def turn_entries(rules: RuleSet, fabric: Fabric, node: str) -> tuple[Entry, ...]:
    """Return the entries of the tables arrival, departure and vl_turn of one node."""
    local = HOST_PORT, CPU_PORT
    arrivals, leaving = {}, {}
    for neighbour in fabric.neighbours(node):
        for port in fabric.ports_to(node, neighbour):
            arrivals[port] = direction(rules, fabric, neighbour, node)
            leaving[port] = direction(rules, fabric, node, neighbour)
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
    meshes = rules.meshes
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
