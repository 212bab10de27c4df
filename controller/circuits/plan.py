# SPDX-License-Identifier: Apache-2.0
"""Plan of the circuits of every group, checks of its maps, and counts of moved circuits."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["DARK", "CircuitPlan", "Moves", "check_maps", "count_moves"]


DARK = -1


@final
@dataclass(frozen=True, slots=True)
class Moves:
    """Number of circuits removed, added and kept by a change."""

    removed: int
    added: int
    kept: int


def count_moves(standing: Ints, maps: Ints) -> Moves:
    """Count the circuits removed, added and kept between two arrays of maps of equal shape."""
    standing, maps = np.asarray(standing), np.asarray(maps)
    kept = int(((standing == maps) & (maps >= 0)).sum())
    return Moves(int((standing >= 0).sum()) - kept, int((maps >= 0).sum()) - kept, kept)


def check_maps(maps: Ints, shape: tuple[int, ...]) -> None:
    """Raise PlanError unless maps have `shape` and each row is a partial permutation without fixed points."""
    maps = np.asarray(maps)
    if maps.shape != shape:
        raise PlanError(f"the maps have shape {maps.shape}", remedy=f"give an array of shape {shape}")
    n = shape[-1]
    rows = maps.reshape(-1, n)
    if ((rows < DARK) | (rows >= n)).any():
        worst = rows[(rows < DARK) | (rows >= n)][0]
        raise PlanError(
            f"a circuit leads to Pod {worst}, which does not exist",
            remedy=f"give a Pod from 0 to {n - 1}, or {DARK} for a dark port",
        )
    seen = np.zeros((len(rows), n + 1), np.int64)
    np.add.at(seen, (np.arange(len(rows))[:, None], rows), 1)
    if (twice := np.argwhere(seen[:, :n] > 1)).size:
        k, j = twice[0]
        raise PlanError(
            f"pair {k} joins {seen[k, j]} Pods to the odd port of Pod {j}",
            remedy="join at most one Pod to a port",
        )
    if (own := np.argwhere(rows == np.arange(n))).size:
        k, i = own[0]
        raise PlanError(f"pair {k} joins Pod {i} to itself", remedy=f"leave the port dark with {DARK}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class CircuitPlan:
    """Circuits of all groups: in group h, pair k of optical switches joins Pod i to Pod `maps[h, k, i]`.

    `maps` has shape (H, K/2, P); controller.circuits.pairs describes the maps of one group.
    `counts[h, i, j]`, (H, P, P), is the number of circuits between spines h of Pods i and j, from an even
    port of either spine. `moves` counts the changes against the previous plan; without a previous plan, all
    circuits are added.
    """

    counts: Ints
    maps: Ints
    moves: Moves

    @classmethod
    def of(cls, maps: Ints, standing: Self | None = None) -> Self:
        """Return the plan with these maps, (H, K/2, P), made read-only; `standing` is the previous plan."""
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
        """Number of circuits in the plan."""
        return self.moves.kept + self.moves.added
