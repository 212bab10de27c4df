# SPDX-License-Identifier: Apache-2.0
"""Turn rules of fabrics with dimensions and tiers: the stages of a route order its hops.

A route moves in the mesh of its endpoints, climbs to the switches, climbs among the switches, moves in the
mesh that the switches form, and descends in the opposite order. A hop goes up if its coordinate or its tier
grows, and down if it falls.

With the increment `valley`, no cycle can close. Proof: let s be the sum of a node's coordinates (between
tiers, its tier), and m the largest s. A hop up from the node has the rank s, and a hop down the rank
2 m + 1 - s. Then (group, VL, rank) rises from channel to channel along every path.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.turn_rules import CLASS_VLS, RULE_NAMES, Direction, RuleSet, Turns, VlIncrement
from controller.errors import PlanError
from topologies import Fabric, Node
from topologies.model.columns import NO_DIMENSION, columns
from topologies.model.computed_once import computed_for_any_circuits
from topologies.model.lines import is_sparse_mesh

__all__ = ["StageOrder", "rules_of_turns", "staged_rules"]

# Largest number of groups: tables have 3 bits for the number of a group, and 0 is the group of the host.
_MAX_GROUPS = 7

# Kinds of hops at a level, in route order: between tiers of the level, in a mesh, to another level.
_AMONG, _MESH, _LEAVE = 1, 2, 3

Stage = tuple[bool, int, int, int]
"""(descends, level, kind of hop, mesh group), sorted in the order of a route; a descent has -level."""


@final
@dataclass(frozen=True, slots=True)
class StageOrder:
    """Order of hops by the stages of a route.

    Attributes:
        groups: Dimensions of each mesh group, in route order.
        stages: Group number, from 1, of each stage in the fabric.
        meshes: Numbers of the groups whose hops are within a mesh.
    """

    groups: tuple[tuple[int, ...], ...]
    stages: dict[Stage, int]
    meshes: frozenset[int]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the fabric's groups, ascending."""
        return tuple(sorted(set(self.stages.values())))

    @property
    def widest_mesh(self) -> int:
        """Largest number of dimensions in one group."""
        return max((len(group) for group in self.groups), default=0)

    def direction(self, fabric: Fabric, node: str, neighbour: str) -> Direction:
        """Return the direction of the hop from a node to a neighbour."""
        dimension = fabric.link_between(node, neighbour).dimension
        a, b = fabric.node(node), fabric.node(neighbour)
        goes_up = (
            b.tier > a.tier if dimension is None else b.coordinates[dimension] > a.coordinates[dimension]
        )
        return Direction(self.stages[_stage(a, b, dimension, self.groups)], goes_up)

    def directions(self, fabric: Fabric) -> NDArray[np.int32]:
        """Return the direction of every hop by number: 2 * group, plus 1 if the hop goes up."""
        hops = columns(fabric)
        tail_tier, head_tier = hops.tiers[hops.tails], hops.tiers[hops.heads]
        # The stage of a hop depends on these five values only; they have few combinations.
        shape = np.zeros(len(hops.tails), np.int64)
        for values in (
            hops.levels[hops.tails],
            tail_tier,
            hops.levels[hops.heads],
            head_tier,
            hops.dimensions - NO_DIMENSION,
        ):
            shape = shape * (1 + int(values.max(initial=0))) + values
        _, first, kind = np.unique(shape, return_index=True, return_inverse=True)
        numbers = [
            self.stages[
                _stage(
                    fabric.nodes[hops.tails[hop]],
                    fabric.nodes[hops.heads[hop]],
                    None if hops.dimensions[hop] == NO_DIMENSION else int(hops.dimensions[hop]),
                    self.groups,
                )
            ]
            for hop in first.tolist()
        ]
        axis = np.maximum(hops.dimensions, 0)
        among = hops.coordinates[hops.heads, axis] > hops.coordinates[hops.tails, axis]
        up = np.where(hops.dimensions == NO_DIMENSION, head_tier > tail_tier, among)
        return (2 * np.array(numbers, np.int32)[kind] + up).astype(np.int32)


def staged_rules(name: str, fabric: Fabric) -> RuleSet:
    """Return the named rules on a fabric; PlanError for unknown names and for too many groups of hops.

    Dimension order takes the highest dimension of a group first, as the tables do: a longest prefix match on
    the address finds the highest dimension in which a destination differs.

        T2-G        2 VLs, at most one valley in each of the fabric's groups
        T2-V        2 VLs, at most one valley, all dimensions in one group
        T2-DOR      2 VLs, dimension order, one detour in each dimension
        T1-UD       1 VL, all up hops before all down hops
        T1-DOR+     1 VL, dimension order, detours without a valley
        T1-DOR      1 VL, dimension order, one hop in each dimension
        single-vl   1 VL, every turn; can deadlock
    """
    flat = (tuple(range(len(fabric.dims))),)
    ordered = tuple((dimension,) for group in fabric.groups for dimension in reversed(group))
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
        raise PlanError(f"the turn rules {name!r} do not exist", remedy=f"use one of {', '.join(RULE_NAMES)}")
    groups, vls, turn = known[name]
    stages = _number_stages(_stages(fabric, groups))
    if len(set(stages.values())) > _MAX_GROUPS:
        raise PlanError(
            f"rules {name}: there are {len(set(stages.values()))} groups of hops, and the tables "
            f"can name {_MAX_GROUPS}",
            remedy="use fewer dimensions or rules T2-G",
        )
    meshes = frozenset(number for stage, number in stages.items() if stage[2] == _MESH)
    return RuleSet(name, vls, turn, StageOrder(groups, stages, meshes))


def rules_of_turns(name: str, fabric: Fabric, turns: Turns) -> RuleSet:
    """Return rules from a user's table of turns on a full mesh; dimension d is group d + 1.

    Raises:
        PlanError: The fabric has switches or no full meshes, or a turn leaves on a lane that its class lacks.
    """
    groups = tuple((dimension,) for dimension in range(len(fabric.dims)))
    stages = _stages(fabric, groups)
    if fabric.graph_routed or is_sparse_mesh(fabric) or any(stage[2] != _MESH for stage in stages):
        raise PlanError(
            f"rules {name}: {fabric.name} has switches, or a dimension that is not a full mesh",
            remedy="use a fabric whose dimensions are all full meshes",
        )
    for (arriving, leaves, lane), following in turns.items():
        if not 0 <= following < CLASS_VLS:
            raise PlanError(
                f"rules {name}: the turn {arriving} to {leaves} on lane {lane} leaves on lane {following}",
                remedy=f"give a lane from 0 to {CLASS_VLS - 1}",
            )
    numbers = _number_stages(stages)
    order = StageOrder(groups, numbers, frozenset(numbers.values()))
    return RuleSet(name, CLASS_VLS, VlIncrement.TABLE, order, dict(turns))


@computed_for_any_circuits
def _stages(fabric: Fabric, groups: tuple[tuple[int, ...], ...]) -> Set[Stage]:
    """Return the stages of all hops of a fabric, including possible circuits of optical switches."""
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
    # Inside a domain (level 0), hops up and hops down both come before the first hop out of the domain.
    if neighbour.tier > node.tier or (not height and what == _AMONG):
        return (False, height, what, 0)
    return (True, -height, what, 0)


def _mesh(height: int, number: int) -> Stage:
    return (False, height, _MESH, number)


def _number_stages(stages: Set[Stage]) -> dict[Stage, int]:
    """Return the number of each stage, from 1 in route order.

    The last climb and the first descent share a number, unless a mesh stage lies between them.
    """
    numbers: dict[Stage, int] = {}
    number = 0
    before: Stage | None = None
    for stage in sorted(stages):
        top = before is not None and stage[0] and not before[0] and before[2] != _MESH
        number += not top
        numbers[stage] = number
        before = stage
    return numbers
