# SPDX-License-Identifier: Apache-2.0
"""A switch of a tree in Python: the specification of p4/control/reduce, without its wide words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from emulation.traffic.frames.values import Combining, ReductionKind
from emulation.traffic.tree.wire import EVERY_LEAF, ReductionFields

__all__ = ["NO_TREE", "REPEATED", "Neighbour", "SlotMachine", "TreeAt", "combined"]

NO_TREE = "no tree"
REPEATED = "repeated"


@final
@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour in a tree: its CNA, the VL towards it, and its first and last leaf."""

    cna: int
    vl: int = 0
    first: int = 0
    last: int = EVERY_LEAF


@final
@dataclass(frozen=True, slots=True)
class TreeAt:
    """A tree at one switch: its cells from `base` on, a power of two, and the neighbours by port."""

    own: int
    base: int
    cells: int
    children: Mapping[int, Neighbour]
    parent: int | None = None
    above: Neighbour | None = None


@final
@dataclass(slots=True)
class _Cell:
    block: int = 0
    have: set[int] = field(default_factory=set)
    stage: str = "gathers"
    values: bytes = b""
    wrapped: bool = False
    scale: int = 0


@final
class SlotMachine:
    """All trees of a switch; `cells` is its memory, empty after a restart."""

    def __init__(self, trees: Mapping[int, TreeAt]) -> None:
        self.trees = trees
        self.cells: dict[int, _Cell] = {}

    def on_frame(self, port: int, frame: ReductionFields) -> dict[int, ReductionFields] | str:
        """Return the frames that leave, by port, or why the frame is refused; none is no refusal."""
        tree = self.trees.get(frame.tree)
        if tree is None or (port not in tree.children and port != tree.parent):
            return NO_TREE
        cell = self.cells.setdefault(tree.base + frame.block % tree.cells, _Cell())
        if port == tree.parent:
            if (frame.kind, frame.block, cell.stage) != (ReductionKind.RESULT, cell.block, "sent"):
                return REPEATED
            cell.stage, cell.wrapped, cell.scale = "done", frame.wrapped, frame.scale
            cell.values = frame.values
            return self._to_children(tree, tree.children, frame)
        if frame.kind != ReductionKind.CONTRIBUTION or frame.block < max(1, cell.block):
            return REPEATED
        if frame.block > cell.block:
            cell = self.cells[tree.base + frame.block % tree.cells] = _Cell(frame.block)
        again = port in cell.have
        if again and cell.stage == "gathers":
            return REPEATED
        if not again:
            self._add(cell, port, frame)
            if cell.have != set(tree.children):
                return {}
            cell.stage = "done" if tree.parent is None else "sent"
        answer = frame._replace(wrapped=cell.wrapped, scale=cell.scale, values=cell.values)
        if cell.stage == "sent":
            assert tree.parent is not None
            assert tree.above is not None
            return {tree.parent: _addressed(answer, tree, tree.above)}
        answer = answer._replace(kind=ReductionKind.RESULT)
        return self._to_children(tree, [port] if again else tree.children, answer)

    def _add(self, cell: _Cell, port: int, frame: ReductionFields) -> None:
        cell.have.add(port)
        cell.scale = max(cell.scale, frame.scale)
        cell.wrapped |= frame.wrapped
        if cell.values and frame.values:
            cell.values, wraps = combined(cell.values, frame.values, frame.operation, frame.wide)
            cell.wrapped |= wraps
        else:
            cell.values = cell.values or frame.values

    def _to_children(
        self, tree: TreeAt, ports: Mapping[int, Neighbour] | list[int], frame: ReductionFields
    ) -> dict[int, ReductionFields]:
        out = {}
        for port in ports:
            child = tree.children[port]
            wants = frame.owner == EVERY_LEAF or child.first <= frame.owner <= child.last
            answer = frame if wants else frame._replace(values=b"")
            out[port] = _addressed(answer, tree, child)
        return out


def _addressed(frame: ReductionFields, tree: TreeAt, to: Neighbour) -> ReductionFields:
    return frame._replace(scna=tree.own, dcna=to.cna, vl=to.vl, route=None)


def combined(first: bytes, second: bytes, operation: int, wide: bool) -> tuple[bytes, bool]:
    """Return the combined values of two frames, and whether a sum has left its range."""
    dtype = np.dtype(">i8" if wide else ">i4")
    a, b = (np.frombuffer(each, dtype) for each in (first, second))
    if operation != Combining.SUM:
        chosen = (np.maximum if operation == Combining.MAX else np.minimum)(a, b)
        return chosen.astype(dtype).tobytes(), False
    exact = [int(x) + int(y) for x, y in zip(a, b, strict=True)]
    limit = 1 << (8 * dtype.itemsize - 1)
    wrapped = [(number + limit) % (2 * limit) - limit for number in exact]
    return np.array(wrapped, dtype).tobytes(), wrapped != exact
