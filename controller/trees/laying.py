# SPDX-License-Identifier: Apache-2.0
"""Lay link-disjoint trees over a fabric. A fabric of several planes gets one tree in each plane."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set

from controller.errors import PlanError
from controller.trees.tree import SwitchTree
from topologies import Fabric

__all__ = ["MAX_CHILDREN", "lay_trees"]

MAX_CHILDREN = 256
"""Largest number of children of a switch in a tree: bits of children_t (p4/include/reduction.p4)."""

Neighbours = Mapping[str, Sequence[str]]


def lay_trees(
    fabric: Fabric, members: Sequence[str], *, failed: Set[str] = frozenset(), most: int | None = None
) -> tuple[SwitchTree, ...]:
    """Return link-disjoint trees over members.

    The root of a tree is a switch of the lowest tier that reaches all members; each child is of a lower tier
    than its parent. If switches have no tiers, a tree consists of shortest paths from its root.

    Args:
        fabric: The fabric.
        members: Leaves of each tree.
        failed: Names of links that do not work.
        most: Largest number of trees; None: as many as are found.

    Raises:
        PlanError: No switch reaches all members over working links.
    """
    used = set(failed)
    trees: list[SwitchTree] = []
    while most is None or len(trees) < most:
        tree = _next_tree(fabric, members, used)
        if tree is None:
            break
        trees.append(tree)
        used.update(link.name for link in tree.links.values())
    if not trees:
        raise PlanError(
            f"fabric {fabric.name} has no switch that leads to all of {', '.join(members[:3])} ...",
            remedy="name members below common switches, or use an algorithm without switches, such as direct",
        )
    return tuple(trees)


def _next_tree(fabric: Fabric, members: Sequence[str], used: Set[str]) -> SwitchTree | None:
    below = _downward(fabric, used)
    wanted = {name: 1 << index for index, name in enumerate(members)}
    everyone = (1 << len(members)) - 1
    reached: dict[str, int] = dict(wanted)
    for switch in sorted(fabric.switches, key=lambda node: node.tier):
        bits = 0
        for child in below[switch.name]:
            bits |= reached.get(child, 0)
        reached[switch.name] = bits
        if bits == everyone:
            children = _below(switch.name, below, reached)
            return _tree(fabric, switch.name, children, used)
    for switch in fabric.switches if fabric.graph_routed else ():
        if (nearest := _nearest(fabric, switch.name, members, used)) is not None:
            return _tree(fabric, switch.name, nearest, used)
    return None


def _downward(fabric: Fabric, used: Set[str]) -> dict[str, list[str]]:
    """Return the neighbours of lower tiers of each switch over links not in `used`."""
    below: dict[str, list[str]] = {node.name: [] for node in fabric.switches}
    for switch in fabric.switches:
        for name in fabric.neighbours(switch.name):
            if fabric.node(name).tier < switch.tier and _is_free(fabric, switch.name, name, used):
                below[switch.name].append(name)
    return below


def _is_free(fabric: Fabric, node: str, neighbour: str, used: Set[str]) -> bool:
    return any(link.name not in used for link in fabric.links_between(node, neighbour))


def _tree(fabric: Fabric, root: str, children: Mapping[str, tuple[str, ...]], used: Set[str]) -> SwitchTree:
    """Return the tree with the given children, over the first free link of each hop."""
    links = {
        child: next(link for link in fabric.links_between(switch, child) if link.name not in used)
        for switch, below in children.items()
        for child in below
    }
    return SwitchTree(root, children, links)


def _below(root: str, below: Neighbours, reached: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the children of each switch in the tree below a root, over the first path to each member."""
    children: dict[str, tuple[str, ...]] = {}
    waiting = deque([(root, reached[root])])
    while waiting:
        switch, left = waiting.popleft()
        chosen: list[str] = []
        for child in below[switch]:
            if taken := reached.get(child, 0) & left:
                left &= ~taken
                chosen.append(child)
                if child in below:
                    waiting.append((child, taken))
        children[switch] = tuple(chosen)
        _check_children(switch, chosen)
    return children


def _nearest(
    fabric: Fabric, root: str, members: Sequence[str], used: Set[str]
) -> dict[str, tuple[str, ...]] | None:
    """Return the children of each switch on shortest paths from a root; None if a member has no path."""
    parents: dict[str, str] = {root: ""}
    waiting = deque([root])
    while waiting:
        switch = waiting.popleft()
        for name in fabric.neighbours(switch):
            if name in parents or not _is_free(fabric, switch, name, used):
                continue
            parents[name] = switch
            if fabric.node(name).is_switch:
                waiting.append(name)
    if any(name not in parents for name in members):
        return None
    needed = {name for member in members for name in _up(parents, member)}
    children: dict[str, list[str]] = {name: [] for name in parents if name in needed and name not in members}
    for name, parent in parents.items():
        if parent and name in needed:
            children[parent].append(name)
    for switch, chosen in children.items():
        _check_children(switch, chosen)
    return {switch: tuple(chosen) for switch, chosen in children.items()}


def _up(parents: Mapping[str, str], name: str) -> Iterator[str]:
    while name:
        yield name
        name = parents[name]


def _check_children(switch: str, children: Sequence[str]) -> None:
    if len(children) > MAX_CHILDREN:
        raise PlanError(
            f"{switch} would have {len(children)} children in a tree; its program can have {MAX_CHILDREN}",
            remedy="name fewer members",
        )
