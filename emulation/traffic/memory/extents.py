# SPDX-License-Identifier: Apache-2.0
"""Directory of the pages that borrowers have on lenders, made before a run.

The pages of all borrowers go to the lenders in turn, a second copy to the next lender, so that any number of
borrowers share any number of lenders. No page of a borrower lies in the borrower's own memory.
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
    """A page of a borrower: its copies, each (CNA of the lender, address of the first byte)."""

    copies: tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Directory:
    """Pages of each borrower, in order of their addresses; nodes are named by their CNAs.

    `used` has the bytes used on each lender. `counters` shared counters are at the beginning of the memory of
    `counter_lender`.
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
    """Allocate `pages` pages for each borrower, in `copies` copies on lenders that lend `lent_bytes` each.

    `counters` shared counters are on `counter_lender`, by default the first lender.

    EmulationError if a borrower has fewer lenders, other than itself, than `copies`, or if a lender has too
    little memory.
    """
    home = lenders[0] if counter_lender is None else counter_lender
    used = {lender: counters * ATOMIC_BYTES if lender == home else 0 for lender in lenders}
    taken: dict[int, tuple[Page, ...]] = {}
    for number, borrower in enumerate(borrowers):
        others = [lender for lender in lenders if lender != borrower]
        if len(others) < copies:
            raise EmulationError(
                f"{copies} copies of a page need as many lenders, but the borrower has {len(others)}",
                remedy="name more lenders, or take fewer copies",
            )
        own = []
        for page in range(pages):
            first = number * pages + page
            own_copies = []
            for copy in range(copies):
                lender = others[(first + copy) % len(others)]
                own_copies.append((lender, used[lender]))
                used[lender] += page_bytes
            own.append(Page(tuple(own_copies)))
        taken[borrower] = tuple(own)
    most = max(used.values())
    if most > lent_bytes:
        raise EmulationError(
            f"the pages and counters at one lender take {most} bytes, but it lends {lent_bytes}",
            remedy="lend more memory, name more lenders, or borrow fewer pages",
        )
    return Directory(page_bytes, taken, used, home, counters)
