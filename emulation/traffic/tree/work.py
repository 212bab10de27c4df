# SPDX-License-Identifier: Apache-2.0
"""Blocks of a collective that switches carry out, and the members that send and receive their values.

Every member sends a frame for every block, with or without values. The frame also tells the switches that the
member has the result of the previous block in the same cell, the memory of one block in a switch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from emulation.errors import EmulationError
from emulation.traffic.frames.values import VALUE_BYTES, Combining
from emulation.traffic.schedule.goals import Goal

__all__ = ["Block", "Work", "work_of"]


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Elements `start` to `stop` (excluded) of the array.

    Rank `source` sends values, rank `owner` receives the result; None stands for all ranks.
    """

    start: int
    stop: int
    source: int | None = None
    owner: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Work:
    """The blocks that each tree carries, in their order, and the operation of the switches.

    `scaled`: the blocks are sums of float32, for which members first agree on a scale (numbers.py).
    """

    by_tree: tuple[tuple[Block, ...], ...]
    operation: Combining = Combining.SUM
    scaled: bool = False

    @property
    def blocks(self) -> int:
        """Number of blocks of all trees."""
        return sum(map(len, self.by_tree))


def work_of(goal: Goal, trees: int, *, operation: Combining = Combining.SUM, dtype: str = "int32") -> Work:
    """Return the work of a collective; each piece of the array is cut into equal shares for the trees.

    Args:
        goal: Kind of the collective, and the ranges that members hold at the end.
        trees: Number of trees.
        operation: Operation by which switches combine values.
        dtype: Type of elements: int32, int64 or float32.

    Raises:
        EmulationError: Switches do not carry out this kind of collective.
    """
    each = VALUE_BYTES // np.dtype(dtype).itemsize
    shares: list[list[Block]] = [[] for _ in range(trees)]
    for start, length, source, owner in _ranges(goal):
        cuts = [start + length * tree // trees for tree in range(trees + 1)]
        for share, first, last in zip(shares, cuts, cuts[1:], strict=False):
            share.extend(Block(at, min(at + each, last), source, owner) for at in range(first, last, each))
    adds = operation is Combining.SUM and goal.kind not in ("broadcast", "all-gather")
    return Work(tuple(map(tuple, shares)), operation, scaled=adds and dtype == "float32")


def _ranges(goal: Goal) -> Iterator[tuple[int, int, int | None, int | None]]:
    """Yield offset, length, source and owner of each range of a goal."""
    roles: dict[str, tuple[bool, bool]] = {
        "allreduce": (False, False),
        "broadcast": (True, False),
        "all-gather": (True, False),
        "reduce": (False, True),
        "reduce-scatter": (False, True),
    }
    if goal.kind not in roles:
        raise EmulationError(f"switches carry out no {goal.kind}", remedy=f"use {', '.join(roles)}")
    has_source, has_owner = roles[goal.kind]
    for number, piece in enumerate(goal.pieces):
        rank = goal.root if goal.root >= 0 else goal.ranks[number]
        for offset, length in piece:
            yield offset, length, rank if has_source else None, rank if has_owner else None
