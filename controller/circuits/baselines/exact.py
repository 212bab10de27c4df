# SPDX-License-Identifier: Apache-2.0
"""Baseline: integer program that moves the fewest circuits.

This is Mini-Rewiring by LumosCore's authors; HiGHS solves it. A slot is a pair of optical switches. The
program has a 0-1 unknown for each slot and ordered pair of Pods that want circuits, so it is for small
fabrics only.
"""

from typing import Any, final

import numpy as np

from controller.circuits.flow import Ints
from controller.circuits.pairs import check_sums
from controller.circuits.places import WorkingPorts
from controller.circuits.plan import check_maps
from controller.errors import PlanError

__all__ = ["allocate_exact", "allocate_most", "assign_exact"]


def assign_exact(
    matrix: Ints,
    pairs: int,
    standing: Ints | None = None,
    *,
    seconds: float = 60.0,
    nodes: int | None = None,
) -> Ints:
    """Assign circuits to pairs of optical switches, keeping the largest possible number of standing circuits.

    The maps have the form of `assign_pairs`. PlanError if the solver proves no optimum within its limit.

    Args:
        matrix: Number of circuits from even to odd ports, (N, N).
        pairs: Number of pairs of optical switches.
        standing: Standing maps, (pairs, N).
        seconds: Time limit; unused if `nodes` is given.
        nodes: Limit on nodes of the solver's tree. Unlike time, it has the same effect on every machine.
    """
    matrix = check_sums(matrix, pairs)
    n = len(matrix)
    if standing is not None:
        check_maps(standing, (pairs, n))
    program = _Program(matrix > 0, pairs, standing)
    ordered = program.row * n + program.col
    program.bound_sums(ordered, n * n, matrix.ravel(), matrix.ravel())
    if nodes is not None:
        return program.solve(f"{nodes} nodes", node_limit=nodes)
    return program.solve(f"{seconds:g} s", time_limit=seconds)


def allocate_exact(
    demand: Ints, spines: int, pairs: int, standing: Ints | None = None, *, seconds: float = 60.0
) -> Ints:
    """Allocate a checked demand, (N, N), to maps, (spines * pairs, N), keeping the most standing circuits.

    Each spine is less than two circuits off its share between any two Pods, as in `allocate`. PlanError if
    the solver proves no optimum within `seconds`.
    """
    n = len(demand)
    program = _Program(demand > 0, spines * pairs, standing)
    low, high = np.minimum(program.row, program.col), np.maximum(program.row, program.col)
    both = np.triu(demand).ravel()
    program.bound_sums(low * n + high, n * n, both, both)
    # Bounds of a spine's circuits: its share rounded down minus one, and its share rounded up plus one.
    spine = program.slot // pairs
    least, most = np.maximum(both // spines - 1, 0), -(-both // spines) + 1
    program.bound_sums(
        (spine * n + low) * n + high,
        spines * n * n,
        np.tile(least, spines),
        np.tile(np.minimum(most, both), spines),
    )
    return program.solve(f"{seconds:g} s", time_limit=seconds)


def allocate_most(demand: Ints, standing: Ints, working: WorkingPorts, *, nodes: int) -> Ints:
    """Return maps, (slots, N), with the largest total worth of circuits on `working` ports.

    A pair of Pods gets at most its circuits of the demand, (N, N). A circuit is worth 1, plus up to 0.5 if
    its Pods want few circuits, plus a small amount if it stands. PlanError if the solver proves no optimum
    within `nodes` of its tree. Unlike a time limit, this limit has the same effect on every machine.
    """
    n = len(demand)
    program = _Program(demand > 0, len(standing), standing, working)
    low, high = np.minimum(program.row, program.col), np.maximum(program.row, program.col)
    program.bound_sums(low * n + high, n * n, 0, np.triu(demand).ravel())
    program.worth = 1 + 0.5 / demand[low, high] + program.worth / (4 * standing.size)
    return program.solve(f"{nodes} nodes", node_limit=nodes, mip_rel_gap=0.2 / demand.sum())


@final
class _Program:
    """Integer program to maximise the worth of the chosen circuits; each slot is a partial permutation.

    Unknown u is 1 if slot `slot[u]` joins the even port of Pod `row[u]` to the odd port of Pod `col[u]`. This
    circuit is worth `worth[u]`.
    """

    def __init__(
        self, wanted: np.ndarray, slots: int, standing: Ints | None, working: WorkingPorts | None = None
    ) -> None:
        self._slots, self._n = slots, len(wanted)
        row, col = np.nonzero(wanted)
        self.slot = np.repeat(np.arange(slots), len(row))
        self.row, self.col = np.tile(row, slots), np.tile(col, slots)
        if working is not None:
            can = working[0][self.row, self.slot] & working[1][self.col, self.slot]
            self.slot, self.row, self.col = self.slot[can], self.row[can], self.col[can]
        self.worth = np.zeros(len(self.slot))
        if standing is not None:
            self.worth = (np.asarray(standing)[self.slot, self.row] == self.col).astype(float)
        self._rows = 0
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        for end in (self.row, self.col):
            self.bound_sums(self.slot * self._n + end, slots * self._n, 0, 1)

    def bound_sums(self, sums: np.ndarray, count: int, low: np.ndarray | int, high: np.ndarray | int) -> None:
        """Bound `count` sums from `low` to `high`; unknown u belongs to sum `sums[u]`."""
        self._add(sums, np.arange(len(sums)), np.ones(len(sums)))
        self._low.append(np.broadcast_to(low, count))
        self._high.append(np.broadcast_to(high, count))
        self._rows += count

    def _add(self, rows: np.ndarray, cols: np.ndarray, values: np.ndarray) -> None:
        self._parts.append((self._rows + rows, cols, values))

    def solve(self, room: str, **limits: float) -> Ints:
        """Return the maps of the optimum; PlanError if the solver proves none within `limits`.

        `room` is the text of the limit for the error.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        maps = np.full((self._slots, self._n), -1)
        if not len(self.slot):
            return maps
        rows, cols, values = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        matrix = coo_array((values, (rows, cols)), shape=(self._rows, len(self.slot))).tocsr()
        low: Any = np.concatenate(self._low)
        high: Any = np.concatenate(self._high)
        result = milp(
            -self.worth,
            integrality=np.ones(len(self.slot)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, low, high),
            options={"mip_rel_gap": 0, **limits},
        )
        if result.status != 0:
            raise PlanError(
                f"the exact program with {len(self.slot):,} unknowns has no proven optimum within {room}",
                remedy="allow more time and memory, or use the method flow",
            )
        taken = result.x > 0.5
        maps[self.slot[taken], self.row[taken]] = self.col[taken]
        return maps
