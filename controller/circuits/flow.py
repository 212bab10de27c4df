# SPDX-License-Identifier: Apache-2.0
"""Choose integers at the lowest cost under bounds on their sums, by min-cost flow.

Each choice of circuits takes this form (LumosCore's minimum-rewiring step, its Appendix A). An item is an
integer with a convex cost. Raising an item by 1 raises the sum at its node `gain` by 1 and lowers the sum at
its node `lose` by 1. In a matrix, entries are items, and rows and columns are nodes. Column sums are negated:
an entry gains at its row and loses at its column.
"""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError

__all__ = ["Ints", "Items", "Nodes", "minimise_cost", "sharing_cost"]

Ints = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True)
class Items:
    """Integers to choose: the range, the convex cost and the two nodes of each integer.

    Integer e is between `points[0, e]` and `points[-1, e]`. Each unit from `points[m, e]` to `points[m + 1,
    e]` costs `slopes[m, e]`, which never falls with m.
    """

    points: Ints
    slopes: Ints
    gain: Ints
    lose: Ints

    def at_lowest_cost(self, wish: Ints) -> Ints:
        """Return each item's cheapest value, regardless of sums; among equal costs, the closest to `wish`."""
        low = self.points[0] + (np.diff(self.points, axis=0) * (self.slopes < 0)).sum(axis=0)
        high = low + (np.diff(self.points, axis=0) * (self.slopes == 0)).sum(axis=0)
        return np.clip(wish, low, high)


@final
@dataclass(frozen=True, slots=True)
class Nodes:
    """Bounds of the sum at each node, and the node's block.

    Both nodes of an item are in the same block.
    """

    low: Ints
    high: Ints
    block: Ints


def minimise_cost(items: Items, nodes: Nodes, wish: Ints) -> Ints:
    """Return the cheapest integers with sums within the bounds, close to `wish` among equal costs.

    Each item starts at its cheapest value. Blocks whose sums are then within the bounds are skipped, so
    unchanged blocks take little time. PlanError if no integers satisfy the bounds. If fractions satisfy them,
    integers do too, because the constraints are those of a network flow.
    """
    count = len(nodes.low)
    cheapest = items.at_lowest_cost(wish)
    # Sums stay far below 2**53, so bincount's floating point is exact.
    value = np.bincount(items.gain, cheapest, count) - np.bincount(items.lose, cheapest, count)
    value = value.astype(np.int64)
    kept = np.clip(value, nodes.low, nodes.high)
    off = value != kept
    if not off.any():
        return cheapest
    bad = np.zeros(nodes.block[-1] + 1 if len(nodes.block) else 0, bool)
    bad[nodes.block[off]] = True
    chosen = np.flatnonzero(bad[nodes.block[items.gain]])
    start, gain, lose = cheapest[chosen], items.gain[chosen], items.lose[chosen]

    # Number the nodes that chosen items use or whose sums are off; then add a slack node for each bad block.
    used = off.copy()
    used[gain] = used[lose] = True
    at = np.cumsum(used) - 1
    here = np.flatnonzero(used)
    slack = int(at[-1]) + np.cumsum(bad)[nodes.block[here]]
    size = int(slack.max()) + 1
    gain, lose, node = at[gain], at[lose], np.arange(len(here))
    surplus = (value - kept)[here]
    supply = np.zeros(size, np.int64)
    supply[: len(here)] = surplus
    supply -= np.bincount(slack, surplus, size).astype(np.int64)

    low, high, slopes = items.points[:-1, chosen], items.points[1:, chosen], items.slopes[:, chosen]
    zones, up = len(slopes), np.clip(high - np.maximum(low, start), 0, None)
    arcs = _Arcs.of(
        (np.tile(lose, zones), np.tile(gain, zones), up, slopes),
        (np.tile(gain, zones), np.tile(lose, zones), high - low - up, -slopes),
        (node, slack, (nodes.high - kept)[here], np.zeros_like(node)),
        (slack, node, (kept - nodes.low)[here], np.zeros_like(node)),
    )
    raised, lowered, _, _ = arcs.flows(supply)
    numbers = cheapest.copy()
    numbers[chosen] += (raised - lowered).reshape(zones, -1).sum(axis=0)
    return numbers


def sharing_cost(a: Ints, low: Ints, high: Ints, u0: Ints, u1: Ints) -> tuple[Ints, Ints]:
    """Return points and slopes, as in `Items`, of the cost of sharing `a` circuits between two halves.

    The first half has u0 standing circuits and gets x, from `low` to `high`. The second half has u1 standing
    circuits and gets a - x. The cost is the number of removed circuits,
    max(0, u0 - x) + max(0, u1 - (a - x)). It is constant between u0 and a - u1 (LumosCore).
    """
    u0, u1 = np.minimum(u0, a), a - np.minimum(u1, a)
    points = np.stack(
        (low, np.clip(np.minimum(u0, u1), low, high), np.clip(np.maximum(u0, u1), low, high), high)
    )
    slopes = np.broadcast_to(np.array([[-1], [0], [1]]), (3, len(a)))
    return points, slopes


@final
@dataclass(frozen=True, slots=True)
class _Arcs:
    """Arcs of the flow network; each part is the arrays of tails, heads, capacities and unit costs."""

    parts: tuple[tuple[Ints, Ints, Ints, Ints], ...]

    @classmethod
    def of(cls, *parts: tuple[Ints, Ints, Ints, Ints]) -> Self:
        return cls(tuple(tuple(array.ravel() for array in part) for part in parts))  # pyright: ignore

    def flows(self, supply: Ints) -> list[Ints]:
        """Return the cheapest flow on the arcs of each part for the `supply` of each node.

        PlanError if no flow exists, or if OR-Tools, an optional package, is not installed.
        """
        try:
            from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
        except ModuleNotFoundError as ex:
            if (ex.name or "").partition(".")[0] != "ortools":
                raise
            raise PlanError(
                "choosing circuits needs OR-Tools, which is not installed",
                remedy="install it with `pip install 'railyard[circuits]'`; in a clone `make setup` does",
            ) from None

        tail, head, capacity, cost = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        some = np.flatnonzero(capacity)
        solver: Any = SimpleMinCostFlow()  # the package's stubs reject numpy arrays
        numbers = solver.add_arcs_with_capacity_and_unit_cost(
            tail[some], head[some], capacity[some], cost[some]
        )
        solver.set_nodes_supplies(np.arange(len(supply)), supply)
        status = solver.solve()
        if status != solver.OPTIMAL:
            raise PlanError(
                f"no circuits satisfy these bounds (solver: {status.name})",
                remedy="lower the demand, or make more ports available",
            )
        flow = np.zeros(len(capacity), np.int64)
        flow[some] = solver.flows(numbers)
        return np.split(flow, np.cumsum([len(part[0]) for part in self.parts])[:-1])
