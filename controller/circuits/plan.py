# SPDX-License-Identifier: Apache-2.0
"""Circuits of every group, as a value."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from controller.circuits.flow import Ints
from controller.circuits.pairs import DARK, Moves, count_moves

__all__ = ["CircuitPlan"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class CircuitPlan:
    """Which circuits stand: `maps[h, k, i] = j` of group h, (H, K/2, P), as in controller.circuits.pairs.

    `counts[h, i, j]` of them, (H, P, P), join spines h of Pods i and j, whichever way round. `moved` is what
    changed against the plan before; without one all are made.
    """

    counts: Ints
    maps: Ints
    moves: Moves

    @classmethod
    def of(cls, maps: Ints, standing: Self | None = None) -> Self:
        """Of maps that nobody else writes to."""
        spines, _, n = maps.shape
        h, k, i = np.nonzero(maps >= 0)
        directed = np.bincount((h * n + i) * n + maps[h, k, i], minlength=spines * n * n).reshape(
            spines, n, n
        )
        counts = directed + directed.transpose(0, 2, 1)
        before = np.full_like(maps, DARK) if standing is None else standing.maps
        counts.flags.writeable = maps.flags.writeable = False
        return cls(counts, maps, count_moves(before, maps))

    @property
    def total(self) -> int:
        """Circuits that stand."""
        return self.moves.kept + self.moves.added
