# SPDX-License-Identifier: Apache-2.0
"""Choice of load-balance values (lb): of a pair's connections (HPN, path selection), and of its paths.

The low four bits of lb name the bucket of a frame, and each bucket has a source route (All-Path-Routing).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

__all__ = ["BUCKETS", "ONE", "Choose", "Connections", "PathShares"]

# Values of the low bits of lb that have a source route each.
BUCKETS: Final = 16

# Choice of a message's connection: the one with the fewest unfinished bytes, or a random one.
Choose = Literal["least-unfinished", "random"]


@final
@dataclass(frozen=True, slots=True)
class Connections:
    """Load-balance values of connections by (source, target) rank; other pairs have one connection."""

    lbs: Mapping[tuple[int, int], tuple[int, ...]]
    choose: Choose = "least-unfinished"
    seed: int = 0

    def of(self, source: int, target: int) -> tuple[int, ...]:
        """Return the load-balance values of a pair's connections."""
        return self.lbs.get((source, target)) or (source * 7 + target * 3,)


@final
@dataclass(frozen=True, slots=True)
class PathShares:
    """Paths of a pair: the number of the path of each bucket, and the weight of each bucket.

    Without weights frames take all buckets in turn. Buckets of weight 0 stand by for failures.
    """

    paths: tuple[int, ...]
    weights: tuple[float, ...] | None = None


ONE: Final = Connections({})
"""A single connection for each pair, with different first values of lb."""
