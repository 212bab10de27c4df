# SPDX-License-Identifier: Apache-2.0
"""A table entry as a value independent of P4Runtime, and the parts of an entry."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, final

__all__ = [
    "BUCKETS",
    "CPU_PORT",
    "Entry",
    "Exact",
    "Hashing",
    "Lpm",
    "Match",
    "Optional",
    "Pair",
    "Params",
    "Path",
    "Range",
    "Ternary",
    "hops_of",
]

# Path buckets of the table all_path: the low 4 bits of NTH.lb.
BUCKETS = 16

# Port of the controller in the P4 programs.
CPU_PORT = 510

# Names of the nodes a frame visits, source and destination included.
Path = tuple[str, ...]

# Source and destination of traffic, by name.
Pair = tuple[str, str]


def hops_of(path: Path) -> Iterator[tuple[str, str]]:
    """Return the (from, to) pair of every hop."""
    return pairwise(path)


# Bits of the hash that switches use: each level uses bits of its own, or all levels use identical bits.
Hashing = Literal["per-tier", "identical"]


@final
@dataclass(frozen=True, slots=True)
class Exact:
    """Match of a whole field."""

    value: int


@final
@dataclass(frozen=True, slots=True)
class Lpm:
    """Match of the leading `prefix` bits of a field."""

    value: int
    prefix: int


@final
@dataclass(frozen=True, slots=True)
class Ternary:
    """Match of the bits set in `mask`."""

    value: int
    mask: int


@final
@dataclass(frozen=True, slots=True)
class Range:
    """Match of a range of values, both ends included."""

    low: int
    high: int


@final
@dataclass(frozen=True, slots=True)
class Optional:
    """Match of an optional field; a field that may have any value is left out of `Entry.match`."""

    value: int


Match = Exact | Lpm | Ternary | Range | Optional

Params = tuple[tuple[str, int], ...]
"""Names and values of an action's parameters, in the order of the action."""


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One table entry, independent of P4Runtime.

    `match` has the name and the match of each key, in the table's key order. A key that matches anything
    (ternary, range, optional, prefix 0) is left out. `params` has the parameters in the action's order.

    `priority` is 0 unless the table has a ternary, range or optional key; the highest priority wins. In a
    table with an action selector, `members` has the parameters of each member, in the order in which the
    selector numbers the members, and `params` is empty. A `default` entry is the default action of its table.
    """

    table: str
    match: tuple[tuple[str, Match], ...]
    action: str
    params: Params = ()
    priority: int = 0
    members: tuple[Params, ...] = ()
    default: bool = False

    @property
    def key(self) -> Hashable:
        """Identity of the entry in a switch: an entry replaces another entry with an equal key."""
        return self.table, self.match, self.priority, self.default
