# SPDX-License-Identifier: Apache-2.0
"""Table rows and multicast groups of the switches of a tree (p4/control/reduce)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from controller.deadlock.turn_rules import HOST, RuleSet
from controller.errors import PlanError
from controller.plan.entry import Entry, Exact
from controller.tables.actions import FROM_CHILD, FROM_PARENT, SET_TREE, SET_TREE_NEIGHBOUR
from controller.trees.slots import Allotment
from controller.trees.tree import SwitchTree
from topologies import Fabric

__all__ = ["EVERY_LEAF", "TreeRows", "tree_rows", "tree_vls"]

EVERY_LEAF = 0xFFFF


@final
@dataclass(frozen=True, slots=True)
class TreeRows:
    """Rows of one switch for a tree, and its multicast group: the ports to its children."""

    rows: tuple[Entry, ...]
    group: int
    ports: tuple[int, ...]


def tree_rows(fabric: Fabric, rules: RuleSet, allotment: Allotment) -> Mapping[str, TreeRows]:
    """Return the rows and the group of each switch of a tree.

    Raises:
        PlanError: The turn rules permit no frame on a link of the tree.
    """
    tree = allotment.tree
    vls = tree_vls(fabric, rules, tree)
    return {switch: _rows(fabric, allotment, switch, vls) for switch in tree.children}


def _rows(fabric: Fabric, allotment: Allotment, switch: str, vls: Mapping[tuple[str, str], int]) -> TreeRows:
    tree, number = allotment.tree, allotment.number
    children = tree.children[switch]
    ports = tuple(tree.port(switch, child) for child in children)
    parent = tree.parents.get(switch)
    up = 0 if parent is None else tree.port(switch, parent)
    group = number + 1
    rows = [
        SET_TREE.entry(
            (("tree", Exact(number)),),
            fabric.node(switch).address,
            allotment.bases[switch],
            allotment.cells - 1,
            (1 << len(children)) - 1,
            int(parent is None),
            up,
            group,
        )
    ]
    for bit, (child, port) in enumerate(zip(children, ports, strict=True)):
        at = (("tree", Exact(number)), ("port", Exact(port)))
        rows.append(FROM_CHILD.entry(at, 1 << bit))
        address = fabric.node(child).address
        rows.append(SET_TREE_NEIGHBOUR.entry(at, address, vls[switch, child], *tree.spans[child]))
    if parent is not None:
        at = (("tree", Exact(number)), ("port", Exact(up)))
        rows.append(FROM_PARENT.entry(at))
        address = fabric.node(parent).address
        rows.append(SET_TREE_NEIGHBOUR.entry(at, address, vls[switch, parent], 0, EVERY_LEAF))
    return TreeRows(tuple(rows), group, ports)


def tree_vls(fabric: Fabric, rules: RuleSet, tree: SwitchTree) -> dict[tuple[str, str], int]:
    """Return the VL of each hop of a tree, up and down.

    A switch combines frames of several ingress hops into one frame. For deadlock, the frame counts as
    forwarded from each of these hops. The turn rules give a VL for each turn; the frame takes the highest, so
    that the proof of no deadlock for routes also covers trees.

    Raises:
        PlanError: The rules forbid a turn.
    """
    vls: dict[tuple[str, str], int] = {}

    def leave(node: str, neighbour: str, arriving: Sequence[str]) -> None:
        leaves = rules.direction(fabric, node, neighbour)
        turns = [(rules.direction(fabric, name, node), vls[name, node]) for name in arriving] or [(HOST, 0)]
        possible = [rules.next_vl(comes, leaves, vl) for comes, vl in turns]
        if None in possible:
            raise PlanError(
                f"rules {rules.name} forbid a turn at {node} in the tree of {tree.root}",
                remedy="use other turn rules",
            )
        vls[node, neighbour] = max(vl for vl in possible if vl is not None)

    for leaf in tree.leaves:
        leave(leaf, tree.parents[leaf], ())
    for switch in reversed([*tree.children]):
        if switch != tree.root:
            leave(switch, tree.parents[switch], tree.children[switch])
    for switch, children in tree.children.items():
        comes = children if switch == tree.root else (tree.parents[switch],)
        for child in children:
            leave(switch, child, comes)
    return vls
