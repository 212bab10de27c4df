# SPDX-License-Identifier: Apache-2.0
"""Choice of values of the header field lb (load balancing): of connections (HPN, path selection), of paths.

The low four bits of lb name the bucket of a frame, and each bucket has a source route (All-Path-Routing).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, final

__all__ = [
    "BUCKETS",
    "LB_VALUES",
    "ONE",
    "SPRAYS",
    "Choose",
    "Connections",
    "PathShares",
    "PathTiming",
    "SprayChoice",
    "first_lb",
]

# Number of path buckets: values of the low four bits of the header field lb, each with a source route.
BUCKETS: Final = 16

# Number of values of lb.
LB_VALUES: Final = 256

SPRAYS: Final = ("oblivious", "bitmap", "reps", "mixed")
"""Spraying algorithms; tests/oracle/paths/entropies.py explains them."""

# Choice of a message's connection: the connection with the fewest unfinished bytes, or a random connection.
Choose = Literal["least-unfinished", "random"]


@final
@dataclass(frozen=True, slots=True)
class Connections:
    """Values of the header field lb by (source, target) rank, one a connection; other pairs have one.

    `choose` says which connection a message takes; `seed` is for the random choice.
    """

    lbs: Mapping[tuple[int, int], tuple[int, ...]]
    choose: Choose = "least-unfinished"
    seed: int = 0

    def of(self, source: int, target: int) -> tuple[int, ...]:
        """Return the value of lb of each connection from rank `source` to rank `target`."""
        return self.lbs.get((source, target)) or (first_lb(source, target),)


@final
@dataclass(frozen=True, slots=True)
class PathTiming:
    """Round trip in ps on an idle path, with links of different rates.

    `headers_ps` is the round trip of a frame without payload and its acknowledgement, `kib_ps` the time that
    each KiB of payload adds, `narrowest_kib_ps` the transmission time of a KiB on the slowest link.
    """

    headers_ps: int
    kib_ps: int
    narrowest_kib_ps: int


@final
@dataclass(frozen=True, slots=True)
class PathShares:
    """Paths from a rank to another: the number of the path of each bucket, and the weight of each bucket.

    Without weights frames take all buckets in turn. Buckets of weight 0 are used only after failures.
    `timings[n]` is the timing of path n; it is empty if the source does not know the links of its paths.
    """

    paths: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    timings: tuple[PathTiming, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class SprayChoice:
    """Spraying of all connections of a job: the algorithm, one of SPRAYS, and the seed of its random numbers.

    `entropies`, a power of two, is the number of values of the header field `lb` (load balancing) that are
    used if switches choose the paths; a source that knows its paths uses all buckets.
    """

    algorithm: str
    entropies: int = LB_VALUES
    seed: int = 0


ONE: Final = Connections({})
"""A single connection for each pair of ranks; `first_lb` gives its first value of `lb`."""


def first_lb(source: int, target: int) -> int:
    """Return the default first value of lb for data from rank `source` to rank `target`, 0 to 255.

    If the source sends a single frame, this value alone decides the path. In a step of a collective the pairs
    of ranks that share links have a pattern: one rank and all others, or partners that differ in a bit of the
    rank. Over 16 such pairs, or a multiple, all buckets are equally frequent, whatever power of two the ranks
    are apart. A sum of multiples of both ranks cannot do this: in recursive doubling it is even for all pairs
    or odd for all.

    The hexadecimal digits of a rank are added in the field of 16 elements. The target's sum is multiplied by
    x for the low four bits, the bucket, and by x^2 for the high four bits (two orthogonal Latin squares).
    """
    ours, theirs = _digits(source), _times_x(_digits(target))
    return (ours ^ _times_x(theirs)) << 4 | ours ^ theirs


@cache
def _digits(rank: int) -> int:
    """Return the exclusive or of the hexadecimal digits of a rank: their sum in the field GF(16)."""
    total = 0
    while rank:
        total ^= rank & 15
        rank >>= 4
    return total


def _times_x(value: int) -> int:
    """Return x times an element of the field of 16 elements, x^4 + x + 1 = 0."""
    return value << 1 ^ (0b10011 if value & 8 else 0)
