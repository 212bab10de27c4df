# SPDX-License-Identifier: Apache-2.0
"""Pages that borrowers have on lenders: a directory made before a run.

Page k of a borrower lies on lenders in turn, and its second copy on the next lender, so that any number of
borrowers share any number of lenders. A node that lends and borrows gets no page of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.errors import EmulationError
from emulation.traffic.memory.memory import ATOMIC_BYTES

__all__ = ["Directory", "Page", "allocate"]


@final
@dataclass(frozen=True, slots=True)
class Page:
    """A page of a borrower: its copies, each the lender and the first byte there."""

    copies: tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Directory:
    """Pages of all borrowers, in order of their addresses; numbers stand for CNAs.

    Shared counters lie at the beginning of the memory of `counter_lender`.
    """

    page_bytes: int
    pages: Mapping[int, tuple[Page, ...]]
    used: Mapping[int, int]
    counter_lender: int
    counters: int


def allocate(
    borrowers: Sequence[int],
    lenders: Sequence[int],
    *,
    page_bytes: int,
    pages: int,
    copies: int,
    lent_bytes: int,
    counters: int = 0,
    counter_lender: int | None = None,
) -> Directory:
    """Return the pages of borrowers, `pages` each, on lenders that lend `lent_bytes` each.

    EmulationError if a page has fewer other nodes than copies, or lenders have too little memory.
    """
    home = lenders[0] if counter_lender is None else counter_lender
    used = {lender: counters * ATOMIC_BYTES if lender == home else 0 for lender in lenders}
    taken: dict[int, tuple[Page, ...]] = {}
    for number, borrower in enumerate(borrowers):
        others = [lender for lender in lenders if lender != borrower]
        if len(others) < copies:
            raise EmulationError(
                f"{copies} copies of a page on {len(others)} lenders beside its borrower",
                remedy="name more lenders, or take fewer copies",
            )
        own = []
        for page in range(pages):
            first = number * pages + page
            places = []
            for copy in range(copies):
                lender = others[(first + copy) % len(others)]
                places.append((lender, used[lender]))
                used[lender] += page_bytes
            own.append(Page(tuple(places)))
        taken[borrower] = tuple(own)
    most = max(used.values())
    if most > lent_bytes:
        raise EmulationError(
            f"pages of {most} bytes on a lender that lends {lent_bytes}",
            remedy="lend more memory, name more lenders, or borrow fewer pages",
        )
    return Directory(page_bytes, taken, used, home, counters)
