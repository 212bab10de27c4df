# SPDX-License-Identifier: Apache-2.0
"""Which turns a frame may take and on which virtual lane (VL) it leaves (UB-Mesh, TFC).

The paper leaves out the details of its turn and VL rules; these are this project's own. A hop goes up when
its coordinate grows, down when it falls. Dimensions come in groups that a route visits in their order; VLs
start afresh in each group. Inside a group one of three things counts against the VLs:

    valley  a down hop followed directly by an up hop: a path of up to three hops has at most one
    step    every hop after the first: with a group a dimension, dimension order and detours
    free    nothing: no protection at all, the negative control

With `valley`, channels ordered by (group, VL, rank) rise along every path, the rank of a hop up from node p
being the sum of p's coordinates and of a hop down the largest sum twice, plus one, minus it: so no cycle
can close.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, final

from controller.errors import PlanError
from controller.paths import hops_of
from controller.plan import CPU_PORT, Entry, Exact, Path
from topologies import HOST_PORT, Fabric

__all__ = [
    "CLASS_VLS",
    "ENTRY_VLS",
    "HOST",
    "Direction",
    "RuleSet",
    "Turn",
    "direction",
    "rule_names",
    "rule_set",
    "turn_entries",
]

# VLs of a traffic class; data has VL 0 and 1, responses and management 2 and 3.
CLASS_VLS = 2

# The VL on which each class enters the fabric.
ENTRY_VLS = (0, 2)

# Mesh groups that the tables' 3 bits can name beside 0, the host.
_MAX_GROUPS = 7


class Direction(NamedTuple):
    """The way a hop goes: its group (0: to or from a node's own side) and whether its coordinate grows."""

    group: int
    up: bool


HOST = Direction(0, False)


class Turn(Enum):
    """What takes a frame to the next VL of its class."""

    VALLEY = "valley"
    STEP = "step"
    FREE = "free"


@final
@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules of one fabric: groups of dimensions in the order of a route, VLs used of a class, what counts."""

    name: str
    groups: tuple[tuple[int, ...], ...]
    vls: int
    turn: Turn

    def group(self, dimension: int) -> int:
        """Number of a dimension's group, from 1."""
        return next(number for number, group in enumerate(self.groups, 1) if dimension in group)

    def next_vl(self, came: Direction, leaves: Direction, vl: int) -> int | None:
        """VL on which a frame leaves, or None for a turn that is not allowed."""
        if HOST.group in (came.group, leaves.group) or self.turn is Turn.FREE:
            return vl
        base = vl - vl % CLASS_VLS
        if leaves.group != came.group:
            return base if leaves.group > came.group else None
        counts = self.turn is Turn.STEP or (leaves.up and not came.up)
        leaving = vl + counts
        return leaving if leaving < base + self.vls else None

    def vls_of(self, fabric: Fabric, path: Path, entry_vl: int = 0) -> tuple[int, ...] | None:
        """VL of every hop of a path, or None when one of its turns is not allowed."""
        came, vl, found = HOST, entry_vl, []
        for near, far in hops_of(path):
            leaves = direction(self, fabric, near, far)
            following = self.next_vl(came, leaves, vl)
            if following is None:
                return None
            found.append(following)
            came, vl = leaves, following
        return tuple(found)


def rule_names() -> tuple[str, ...]:
    """Names that `rule_set` takes."""
    return ("T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR", "one-vl")


def rule_set(name: str, fabric: Fabric) -> RuleSet:
    """The named rules on a fabric; PlanError lists the names when there is none such.

    T2-G: 2 VLs, at most one valley in each of the fabric's groups. T2-V: the same with all dimensions in
    one group. T2-DOR: 2 VLs, dimension order with a detour in each. T1-UD: 1 VL, all up hops before all
    down hops. T1-DOR+: 1 VL, dimension order with detours that have no valley. T1-DOR: 1 VL, one hop a
    dimension. one-vl: anything on 1 VL, which can deadlock.
    """
    flat = (tuple(range(len(fabric.dims))),)
    ordered = tuple((dimension,) for group in fabric.groups for dimension in group)
    known = {
        "T2-G": (fabric.groups, 2, Turn.VALLEY),
        "T2-V": (flat, 2, Turn.VALLEY),
        "T2-DOR": (ordered, 2, Turn.STEP),
        "T1-UD": (flat, 1, Turn.VALLEY),
        "T1-DOR+": (ordered, 1, Turn.VALLEY),
        "T1-DOR": (ordered, 1, Turn.STEP),
        "one-vl": (flat, 1, Turn.FREE),
    }
    if name not in known:
        raise PlanError(f"no turn rules named {name!r}", remedy=f"there are {', '.join(rule_names())}")
    groups, vls, turn = known[name]
    if len(groups) > _MAX_GROUPS:
        raise PlanError(
            f"rules {name}: {len(groups)} groups of dimensions, and the tables name {_MAX_GROUPS}",
            remedy="use fewer dimensions",
        )
    return RuleSet(name, groups, vls, turn)


def direction(rules: RuleSet, fabric: Fabric, near: str, far: str) -> Direction:
    """The way of the hop from one node to a neighbour."""
    dimension = fabric.link_between(near, far).dimension
    goes_up = fabric.node(far).coordinates[dimension] > fabric.node(near).coordinates[dimension]
    return Direction(rules.group(dimension), goes_up)


def turn_entries(rules: RuleSet, fabric: Fabric, node: str) -> tuple[Entry, ...]:
    """Entries of the tables arrival and departure of one node, and of vl_turn, which is the same on all."""
    entries = [_arrive(port, HOST) for port in (HOST_PORT, CPU_PORT)]
    entries.append(_depart(HOST_PORT, HOST))
    for far in fabric.neighbours(node):
        port = fabric.port_to(node, far)
        entries.append(_arrive(port, direction(rules, fabric, far, node)))
        entries.append(_depart(port, direction(rules, fabric, node, far)))
    return (*entries, *_vl_turn(rules))


def _arrive(port: int, way: Direction) -> Entry:
    return Entry("arrival", (("port", Exact(port)),), "arrive", (("group", way.group), ("up", int(way.up))))


def _depart(port: int, way: Direction) -> Entry:
    return Entry("departure", (("port", Exact(port)),), "depart", (("group", way.group), ("up", int(way.up))))


def _vl_turn(rules: RuleSet) -> list[Entry]:
    ways = [Direction(number, up) for number in range(1, len(rules.groups) + 1) for up in (False, True)]
    entries: list[Entry] = []
    for came in (HOST, *ways):
        for leaves in (HOST, *ways):
            for entry_vl in ENTRY_VLS:
                # A source names no VL, so a frame from a node's own side is on the first of its class.
                last = entry_vl + (1 if came == HOST else rules.vls)
                for vl in range(entry_vl, last):
                    leaving = rules.next_vl(came, leaves, vl)
                    if leaving is not None:
                        entries.append(_turn(came, leaves, vl, leaving))
    return entries


def _turn(came: Direction, leaves: Direction, vl: int, leaving: int) -> Entry:
    match = (
        ("in_group", Exact(came.group)),
        ("in_up", Exact(int(came.up))),
        ("out_group", Exact(leaves.group)),
        ("out_up", Exact(int(leaves.up))),
        ("vl", Exact(vl)),
    )
    return Entry("vl_turn", match, "set_vl", (("vl", leaving),))
