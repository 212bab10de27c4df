# SPDX-License-Identifier: Apache-2.0
"""Goals of collectives: for every rank, the sums of initial elements that it holds at the end.

A goal is the specification that a schedule is proved against; it does not say how the data travel. Every kind
of goal is translated into `Holds`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

__all__ = ["Goal", "Holds", "Kind", "Range"]

Kind = Literal["allreduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "p2p"]

Range = tuple[int, int]
"""Offset and length, in elements."""


@final
@dataclass(frozen=True, slots=True)
class Holds:
    """A postcondition on the `length` elements from `offset` on, at each of `ranks`.

    The elements are the sum of the ranges `sources` of the initial arrays, each given by its rank and offset.
    Without sources the elements are undefined.
    """

    ranks: tuple[int, ...]
    offset: int
    length: int
    sources: tuple[tuple[int, int], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Goal:
    """Change of the ranks' arrays by a collective; elements outside the pieces keep their value.

    Attributes:
        kind: Kind of collective.
        ranks: Ranks that take part.
        pieces: Pieces of the array, each a tuple of ranges, equal for all ranks. In a reduce-scatter, rank
            `ranks[i]` ends with the sum of `pieces[i]`; in an all-gather, it begins with the data of
            `pieces[i]`. In an all-to-all, `pieces[i]` of rank `ranks[j]` holds the data for `ranks[i]` at the
            beginning, and the data from `ranks[i]` at the end; the ranges of all pieces have equal lengths.
            For other kinds there is one piece, the ranges concerned.
        root: Root of a broadcast or a reduce; -1 for other kinds.
        targets: In a p2p, `ranks[i]` sends to `targets[i]`; empty for other kinds.
        begin: First step.
        end: Step after the last step.
    """

    kind: Kind
    ranks: tuple[int, ...]
    pieces: tuple[tuple[Range, ...], ...]
    root: int = -1
    targets: tuple[int, ...] = ()
    begin: int = 0
    end: int = 0

    def moved(self, ranks: Sequence[int], offset: int, step: int) -> "Goal":
        """Return the goal with `ranks[r]` instead of rank r, moved by `offset` elements and `step` steps."""
        return replace(
            self,
            ranks=tuple(ranks[rank] for rank in self.ranks),
            pieces=tuple(tuple((low + offset, length) for low, length in piece) for piece in self.pieces),
            root=ranks[self.root] if self.root >= 0 else -1,
            targets=tuple(ranks[rank] for rank in self.targets),
            begin=self.begin + step,
            end=self.end + step,
        )

    def holds(self) -> Iterator[Holds]:
        """Yield the goal's postconditions; no two concern the same element of a rank."""
        ranks = self.ranks
        match self.kind:
            case "allreduce" | "broadcast" | "reduce":
                yield from self._about_one_range()
            case "reduce-scatter":
                for index, rank in enumerate(ranks):
                    others = ranks[:index] + ranks[index + 1 :]
                    for offset, length in self.pieces[index]:
                        yield Holds((rank,), offset, length, tuple((source, offset) for source in ranks))
                        yield Holds(others, offset, length)
            case "all-gather":
                for rank, piece in zip(ranks, self.pieces, strict=True):
                    for offset, length in piece:
                        yield Holds(ranks, offset, length, ((rank, offset),))
            case "all-to-all":
                for source, parts in zip(ranks, self.pieces, strict=True):
                    for target, block in zip(ranks, self.pieces, strict=True):
                        for (there, length), (here, _) in zip(parts, block, strict=True):
                            yield Holds((target,), there, length, ((source, here),))
            case "p2p":
                for offset, length in self.pieces[0]:
                    for source, target in zip(ranks, self.targets, strict=True):
                        yield Holds((target,), offset, length, ((source, offset),))

    def _about_one_range(self) -> Iterator[Holds]:
        for offset, length in self.pieces[0]:
            everyone = tuple((rank, offset) for rank in self.ranks)
            if self.kind == "allreduce":
                yield Holds(self.ranks, offset, length, everyone)
            elif self.kind == "broadcast":
                yield Holds(self.ranks, offset, length, ((self.root, offset),))
            else:
                yield Holds((self.root,), offset, length, everyone)
                yield Holds(tuple(rank for rank in self.ranks if rank != self.root), offset, length)
