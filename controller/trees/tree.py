# SPDX-License-Identifier: Apache-2.0
"""A tree of switches over members: the parent of each node, and the leaves below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import final

from topologies import Link

__all__ = ["SwitchTree"]


@final
@dataclass(frozen=True, slots=True)
class SwitchTree:
    """A tree with switches as inner nodes and members as leaves.

    Attributes:
        root: Name of the switch at the top.
        children: Children of each switch; a switch comes before the switches below it, so the root is first.
        links: Link from each child to its parent.
        spans: Numbers of the first and last leaf below each node. Leaves are numbered from the left, so the
            leaves below a node are consecutive.
        parents: Parent of each node but the root.
    """

    root: str
    children: Mapping[str, tuple[str, ...]]
    links: Mapping[str, Link]
    spans: Mapping[str, tuple[int, int]] = field(init=False, compare=False)
    parents: Mapping[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        spans: dict[str, tuple[int, int]] = {}
        for leaf, name in enumerate(self._from_left(self.root)):
            spans[name] = leaf, leaf
        for switch in reversed([*self.children]):
            below = self.children[switch]
            spans[switch] = spans[below[0]][0], spans[below[-1]][1]
        parents = {child: switch for switch, below in self.children.items() for child in below}
        object.__setattr__(self, "spans", spans)
        object.__setattr__(self, "parents", parents)

    def _from_left(self, name: str) -> Iterator[str]:
        if name not in self.children:
            yield name
            return
        for child in self.children[name]:
            yield from self._from_left(child)

    @property
    def leaves(self) -> tuple[str, ...]:
        """Members in the order of their leaf numbers."""
        return tuple(self._from_left(self.root))

    @property
    def hops(self) -> tuple[tuple[str, str], ...]:
        """(Child, parent) of every link of the tree."""
        return tuple(self.parents.items())

    def port(self, node: str, neighbour: str) -> int:
        """Return the port of a node to its parent or to one of its children."""
        link = self.links[node if self.parents.get(node) == neighbour else neighbour]
        return link.far(neighbour).port

    def path_up(self, name: str) -> tuple[str, ...]:
        """Return the nodes from node `name` to the root, both included."""
        path = [name]
        while path[-1] != self.root:
            path.append(self.parents[path[-1]])
        return tuple(path)
