# SPDX-License-Identifier: Apache-2.0
"""Load-balance values of a pair's connections, and the choice of a connection (HPN, path selection)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

__all__ = ["ONE", "Choose", "Connections"]

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


ONE: Final = Connections({})
"""A single connection for each pair, with different first values of lb."""
