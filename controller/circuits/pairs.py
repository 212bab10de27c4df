# SPDX-License-Identifier: Apache-2.0
"""Assign the circuits of one group to its pairs of optical switches.

The switches 2k and 2k+1 are pair k. `maps[k, i] = j` means that pair k joins the even port of Pod i's spine
to the odd port of Pod j's spine; -1 leaves the even port dark. A row of maps is a partial permutation.
"""

import numpy as np

from controller.circuits.bisection import bisect
from controller.circuits.demand import check_matrix
from controller.circuits.entries import Entries
from controller.circuits.flow import Ints
from controller.circuits.places import place_circuits
from controller.circuits.plan import DARK, check_maps, count_moves
from controller.errors import PlanError

__all__ = ["assign_greedy", "assign_pairs", "check_sums"]


def assign_pairs(matrix: Ints, pairs: int, standing: Ints | None = None) -> Ints:
    """Return maps, (pairs, N), with `matrix[i, j]` circuits from Pod i's even to Pod j's odd ports.

    Few circuits differ from `standing`, (pairs, N). With two pairs, no maps keep more standing circuits. With
    more pairs, the result is the better of two: new circuits placed one by one by shortest chains of moves,
    and recursive bisection that keeps the most standing circuits at each cut. PlanError if a row or column of
    the matrix, (N, N), has a sum above `pairs`.
    """
    matrix = check_sums(matrix, pairs)
    if standing is None:
        return _bisect(matrix, pairs, None)
    standing = np.asarray(standing)
    check_maps(standing, (pairs, len(matrix)))
    best, done = place_circuits(matrix, standing, np.array([pairs]), either_way=False)
    if not done:
        best = _bisect(matrix, pairs, best)
    if count_moves(standing, best).added > _fewest_additions(matrix, standing):
        other = _bisect(matrix, pairs, standing)
        best = min(best, other, key=lambda maps: count_moves(standing, maps).added)
    return best


def _bisect(matrix: Ints, pairs: int, standing: Ints | None) -> Ints:
    n = len(matrix)
    old = None if standing is None else Entries.standing(standing)
    return bisect(Entries.of(matrix[None]), n, [pairs], first=np.zeros(1, np.int64), standing=old).maps(
        pairs, n
    )


def _fewest_additions(matrix: Ints, standing: Ints) -> int:
    """Return a lower bound on the number of circuits added by an assignment."""
    slot, row = np.nonzero(standing >= 0)
    has = np.zeros_like(matrix)
    np.add.at(has, (row, standing[slot, row]), 1)
    return int(np.maximum(matrix - has, 0).sum())


def assign_greedy(matrix: Ints, pairs: int, standing: Ints | None = None) -> Ints:
    """Assign circuits one by one (baseline).

    Standing circuits that are still wanted stay, lowest pair first. A new circuit takes the first pair in
    which both its ports are free. If no pair has both free, the circuit takes the first pair with the even
    port free. This pair then swaps circuits along a path with a pair in which the odd port is free, until the
    odd port is free in the first pair as well (Koenig's edge colouring).
    """
    left = check_sums(matrix, pairs).copy()
    n = len(left)
    maps = np.full((pairs, n), DARK)
    back = np.full((pairs, n), DARK)
    if standing is not None:
        check_maps(standing, (pairs, n))
        for k, i in np.argwhere(np.asarray(standing) >= 0):
            j = standing[k][i]
            if left[i, j]:
                left[i, j] -= 1
                maps[k, i], back[k, j] = j, i
    for i, j in np.argwhere(left):
        for _ in range(left[i, j]):
            free, free_odd = maps[:, i] < 0, back[:, j] < 0
            if (both := np.flatnonzero(free & free_odd)).size:
                k = both[0]
            else:
                k, other = int(free.argmax()), int(free_odd.argmax())
                _swap_along_path(maps, back, k, other, int(j))
            maps[k, i], back[k, j] = j, i
    return maps


def _swap_along_path(maps: Ints, back: Ints, k: int, other: int, column: int) -> None:
    """Swap circuits of two pairs along a path, so that an odd port free in `other` becomes free in `k`.

    `column` is the Pod of the odd port.
    """
    path = []
    j, here, there = column, k, other
    while (i := back[here, j]) >= 0:
        path.append((here, i, j))
        here, there = there, here
        if (j := maps[here, i]) < 0:
            break
        path.append((here, i, j))
        here, there = there, here
    for pair, i, j in path:
        maps[pair, i], back[pair, j] = DARK, DARK
    for pair, i, j in path:
        to = k + other - pair
        maps[to, i], back[to, j] = j, i


def check_sums(matrix: Ints, pairs: int) -> Ints:
    """Return a matrix of demand as int64; PlanError if a row or column asks for more than `pairs` circuits.

    PlanError too if the matrix is not square, has an entry below 0 or a diagonal entry other than 0.
    """
    matrix = check_matrix(matrix)
    if (own := np.flatnonzero(np.diagonal(matrix))).size:
        pod = own[0]
        raise PlanError(
            f"Pod {pod} asks for {matrix[pod, pod]} circuits to itself", remedy="set the diagonal to zero"
        )
    for axis, what in ((1, "row"), (0, "column")):
        sums = matrix.sum(axis=axis)
        if (over := np.flatnonzero(sums > pairs)).size:
            raise PlanError(
                f"{what} {over[0]} asks for {sums[over[0]]} circuits, more than the {pairs} pairs of optical "
                "switches carry",
                remedy="share the demand over more spines, or lower it",
            )
    return matrix
