# SPDX-License-Identifier: Apache-2.0
"""Turn rules: the turns that a frame may take, and the virtual lane (VL) on which it leaves (UB-Mesh, TFC).

The paper leaves out the details of its turn and VL rules; these rules are our own. Each hop belongs to a
group, and goes up or down in this group. Group numbers never fall along a route (docs/reference/deadlock.md).
In a new group, a frame starts again on the first VL of its class. A `HopOrder` gives the group and direction
of each hop: by the structure of a fabric (controller.deadlock.stages), or by ranks of its nodes
(controller.deadlock.ranks).

Inside a group, one of three events moves a frame to the next VL:

    valley  a down hop followed directly by an up hop: a path of up to three hops has at most one valley
    step    every hop after the first hop of the group; if each dimension is a group, a path follows the
            order of dimensions, with detours in each dimension
    free    no event: no protection from deadlock, for comparison

Steps count in meshes only; between tiers, valleys count instead. A user's own rules are a table of turns
(`controller.deadlock.stages.rules_of_turns`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from controller.plan.entry import Path, hops_of
from topologies import Fabric
from topologies.model.computed_once import computed_once

__all__ = [
    "CLASS_VLS",
    "ENTRY_VLS",
    "HOST",
    "RULE_NAMES",
    "Direction",
    "HopOrder",
    "RuleSet",
    "Turns",
    "VlIncrement",
]

# VLs of a traffic class; data has VL 0 and 1, responses and management 2 and 3.
CLASS_VLS = 2

# The VL on which each class enters the fabric.
ENTRY_VLS = (0, 2)

# Names of the rule sets; graphs without dimensions support some of them.
RULE_NAMES = ("T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR", "single-vl")


class Direction(NamedTuple):
    """Direction of a hop: its group (0: to or from a node's host), and whether it goes up in the group."""

    group: int
    up: bool


HOST = Direction(0, False)

Turns = Mapping[tuple[Direction, Direction, int], int]
"""Lane of its class on which a frame leaves, by (arriving direction, leaving direction, arriving lane)."""


class VlIncrement(Enum):
    """Condition for a frame to move to the next VL of its class.

    TABLE: a user's table of turns gives the next VL of each turn instead.
    """

    VALLEY = "valley"
    STEP = "step"
    FREE = "free"
    TABLE = "table"


class HopOrder(Protocol):
    """Groups of the hops of a fabric, and the direction of each hop."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the fabric's groups, ascending."""
        ...

    @property
    def meshes(self) -> frozenset[int]:
        """Numbers of the groups of hops within a mesh."""
        ...

    @property
    def widest_mesh(self) -> int:
        """Largest number of dimensions in one group."""
        ...

    def direction(self, fabric: Fabric, node: str, neighbour: str) -> Direction:
        """Return the direction of the hop from a node to a neighbour."""
        ...

    def directions(self, fabric: Fabric) -> NDArray[np.int32]:
        """Return the direction of every hop by number: 2 * group, plus 1 if the hop goes up."""
        ...


@final
@dataclass(frozen=True, slots=True)
class RuleSet:
    """Turn rules of one fabric.

    Attributes:
        name: Name of the rules.
        vls: Number of VLs of each class that frames use.
        increment: Event that moves a frame to the next VL.
        order: Group and direction of each hop.
        turns: Table of turns, which is used only if `increment` is TABLE.
    """

    name: str
    vls: int
    increment: VlIncrement
    order: HopOrder
    turns: Turns = field(default_factory=dict)
    # Results of `vls_of` by directions and entry VL; paths have few different sequences of directions.
    _known_vls: "dict[tuple[tuple[Direction, ...], int], tuple[int, ...] | None]" = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def up_first(self) -> bool:
        """Return whether tables must send frames up first, because some minimal paths have too many valleys.

        A minimal path over n dimensions of a group has up to n // 2 valleys, and each valley takes a VL.
        """
        return self.increment is VlIncrement.VALLEY and self.order.widest_mesh // 2 >= self.vls

    def next_vl(self, arriving: Direction, leaves: Direction, vl: int) -> int | None:
        """Return the VL after a turn of a frame on `vl`, or None for a forbidden turn."""
        if self.increment is VlIncrement.TABLE and leaves != HOST:
            following = self.turns.get((arriving, leaves, vl % CLASS_VLS))
            return None if following is None else vl - vl % CLASS_VLS + following
        if HOST.group in (arriving.group, leaves.group) or self.increment is VlIncrement.FREE:
            return vl
        base = vl - vl % CLASS_VLS
        if leaves.group != arriving.group:
            return base if leaves.group > arriving.group else None
        valley = leaves.up and not arriving.up
        counts = valley or (self.increment is VlIncrement.STEP and leaves.group in self.order.meshes)
        leaving = vl + counts
        return leaving if leaving < base + self.vls else None

    def direction(self, fabric: Fabric, node: str, neighbour: str) -> Direction:
        """Return the direction of the hop from a node to a neighbour."""
        known = _known_directions(fabric, self.name)
        cached = known.get((node, neighbour))
        if cached is None:
            cached = known[node, neighbour] = self.order.direction(fabric, node, neighbour)
        return cached

    def vls_of(self, fabric: Fabric, path: Path, entry_vl: int = 0) -> tuple[int, ...] | None:
        """Return the VL of every hop of a path, or None if a turn is forbidden."""
        known = _known_directions(fabric, self.name)
        key = tuple([known.get(hop) or self.direction(fabric, *hop) for hop in hops_of(path)]), entry_vl
        if key not in self._known_vls:
            self._known_vls[key] = self._vls_along(*key)
        return self._known_vls[key]

    def permitted(self, fabric: Fabric, paths: Iterable[Path]) -> list[Path]:
        """Return the paths without a forbidden turn; faster than `vls_of` for each path."""
        known, verdicts, kept = _known_directions(fabric, self.name), self._known_vls, list[Path]()
        for path in paths:
            key = tuple([known.get(hop) or self.direction(fabric, *hop) for hop in hops_of(path)]), 0
            if key not in verdicts:
                verdicts[key] = self._vls_along(*key)
            if verdicts[key] is not None:
                kept.append(path)
        return kept

    def _vls_along(self, directions: Sequence[Direction], entry_vl: int) -> tuple[int, ...] | None:
        """Return the VL of every hop, given the directions of the hops, or None if a turn is forbidden."""
        arriving, vl, vls = HOST, entry_vl, []
        for leaves in directions:
            following = self.next_vl(arriving, leaves, vl)
            if following is None:
                return None
            vls.append(following)
            arriving, vl = leaves, following
        return tuple(vls)


@computed_once
def _known_directions(_: Fabric, rules: str) -> dict[tuple[str, str], Direction]:
    """Return the cache of hop directions, by hop, for the rules of this name."""
    return {}
