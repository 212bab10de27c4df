# SPDX-License-Identifier: Apache-2.0
"""Testbed operations for collectives in switches: their members leave a lost tree for another tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.spec import TreePort
from emulation.traffic.tree.work import Block

__all__ = ["TreeLostHandler", "TreeTestbed", "WaitingBlocks"]

TreeLostHandler = Callable[[str, int], None]
"""Callback with a node whose member gets no more results of a tree, and the tree's number."""

WaitingBlocks = Mapping[str, Sequence[int]]
"""Indices of the blocks of a tree whose results a member still waits for, by node."""


class TreeTestbed(Protocol):
    """A testbed with collectives in switches; their members can leave a tree while they run."""

    def ask_waiting(self, nodes: Sequence[str], tree: int, answered: Callable[[WaitingBlocks], None]) -> None:
        """Ask members for the blocks of a tree whose results they lack.

        `answered` is called when all members have answered. In real time a member may receive further results
        after its own answer.
        """
        ...

    def move_members(self, tree: int, ports: Mapping[str, TreePort], blocks: Sequence[Block]) -> None:
        """Move members of `tree` to another tree; each member sends `blocks` up by its port in `ports`."""
        ...

    def replaced_result(self, node: str) -> Array:
        """Return the array of the agent replaced by the node's present agent.

        An agent in another process gives it only once run() has returned True; before, the array is empty.
        """
        ...
