# SPDX-License-Identifier: Apache-2.0
"""What a collective promises: whose elements, added up, every rank holds at its end.

A goal is the specification that a schedule is held against; it says nothing of how the data travel. All
kinds come down to one form, `Holds`.
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
    """At the end `ranks` hold at `offset` the sum of `length` elements of each (rank, offset) of `sources`,
    as they were at the begin; nobody may rely on what they hold there when there are no sources.
    """

    ranks: tuple[int, ...]
    offset: int
    length: int
    sources: tuple[tuple[int, int], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Goal:
    """What one collective does to the arrays of `ranks`, in place; everything else it leaves as it is.

    `pieces` are ranges of the array, the same for all ranks. Of reduce-scatter and all-gather, `pieces[i]`
    are those that rank `ranks[i]` ends or begins with. Of an all-to-all, `pieces[i]` of rank `ranks[j]` is
    what it has for `ranks[i]`, and then what it has from `ranks[i]`: all members' are of equal form. Of the
    others there is one entry, the ranges that it is about. `root` is that of a broadcast or a reduce; a p2p
    goes from `ranks[i]` to `targets[i]`, all at once. `begin` and `end` are its first step and the one after
    its last.
    """

    kind: Kind
    ranks: tuple[int, ...]
    pieces: tuple[tuple[Range, ...], ...]
    root: int = -1
    targets: tuple[int, ...] = ()
    begin: int = 0
    end: int = 0

    def moved(self, ranks: Sequence[int], offset: int, step: int) -> "Goal":
        """The same among other ranks, `ranks[r]` in place of r, elsewhere in the array, and later."""
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
        """The goal piece by piece; no two are about the same element of the same rank."""
        ranks = self.ranks
        match self.kind:
            case "allreduce" | "broadcast" | "reduce":
                yield from self._about_one_range()
            case "reduce-scatter":
                for place, rank in enumerate(ranks):
                    others = ranks[:place] + ranks[place + 1 :]
                    for offset, length in self.pieces[place]:
                        yield Holds((rank,), offset, length, tuple((one, offset) for one in ranks))
                        yield Holds(others, offset, length)
            case "all-gather":
                for rank, piece in zip(ranks, self.pieces, strict=True):
                    for offset, length in piece:
                        yield Holds(ranks, offset, length, ((rank, offset),))
            case "all-to-all":
                for source, place in zip(ranks, self.pieces, strict=True):
                    for target, block in zip(ranks, self.pieces, strict=True):
                        for (there, length), (here, _) in zip(place, block, strict=True):
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
