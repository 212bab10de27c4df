# SPDX-License-Identifier: Apache-2.0
"""Which values of lb the connections of a pair have, and how one of them is chosen (HPN, path selection)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

__all__ = ["ONE", "Choose", "Connections"]

# Which connection a message goes on: that with fewest unfinished bytes, or any, whatever is before it there.
Choose = Literal["least-unfinished", "random"]


@final
@dataclass(frozen=True, slots=True)
class Connections:
    """By pair of ranks, source and target, the values of lb of its connections; pairs left out have one."""

    lbs: Mapping[tuple[int, int], tuple[int, ...]]
    choose: Choose = "least-unfinished"
    seed: int = 0

    def of(self, source: int, target: int) -> tuple[int, ...]:
        return self.lbs.get((source, target)) or (source * 7 + target * 3,)


ONE: Final = Connections({})
"""One a pair, each beginning with another value of lb."""
