# SPDX-License-Identifier: Apache-2.0
"""Shares of an array for several rings, by a linear program; hops may borrow idle links."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.errors import EmulationError
from emulation.traffic.collectives.rings import Arc, Ring, arcs_of, check_rings

__all__ = ["RingSplit", "balanced_rings"]

# Cost of a byte on a detour, in units of the minimised time: enough to prefer the direct link among equally
# fast paths, too little to increase the load of the busiest link.
_DETOUR_COST = 1e-3


@final
@dataclass(frozen=True, slots=True)
class RingSplit:
    """A split of the array over rings: `shares[r]` goes round ring r.

    `time` is the load of the busiest link, in sizes of the array, divided by the link's rate.
    `borrowed[a, b]` is the share of the array that goes from a to b over a third rank.
    """

    shares: tuple[float, ...]
    time: float
    borrowed: Mapping[Arc, float]


def balanced_rings(
    orders: Sequence[Ring], rates: Mapping[Arc, float] | None = None, *, detours: bool = False
) -> RingSplit:
    """Return shares of the rings `orders` that minimise the load of a full mesh's busiest link.

    `rates` are of directed links, 1 by default, 0 for a failed link. With `detours` a hop of a ring may also
    go over any third rank, as with all-path routing: data move from slow or failed links to links that no
    ring uses. A ring's hop carries 2 (n - 1)/n of its share. A linear program, derived here, finds the
    shares. EmulationError for invalid rings or rates, or if no split exists.
    """
    check_rings(orders)
    # Imported here, since importing SciPy takes longer than making a schedule.
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array

    n = len(orders[0])
    rate = {(a, b): 1.0 for a in range(n) for b in range(n) if a != b} | dict(rates or {})
    if min(rate.values()) < 0 or not max(rate.values()) > 0:
        raise EmulationError(
            f"rates of links are from {min(rate.values()):g} to {max(rate.values()):g}",
            remedy="give rates of 0 or more, and at least one above 0",
        )
    fastest = max(rate.values())
    hops = {arc: [r for r, ring in enumerate(orders) if arc in arcs_of(ring)] for arc in rate}
    used = [arc for arc, owners in hops.items() if owners]
    ways: list[tuple[Arc, tuple[Arc, ...]]] = [(arc, (arc,)) for arc in used]
    if detours:
        ways += [((a, b), ((a, via), (via, b))) for a, b in used for via in range(n) if via not in (a, b)]
    ways = [(hop, way) for hop, way in ways if all(rate[arc] > 0 for arc in way)]
    # Columns: the share of each ring, the amount of each path, the time.
    time = len(orders) + len(ways)
    row_of = {arc: row for row, arc in enumerate(arc for arc in rate if rate[arc] > 0)}
    load = [
        (row_of[arc], len(orders) + column, fastest / rate[arc])
        for column, (_, way) in enumerate(ways)
        for arc in way
    ]
    load += [(row, time, -1.0) for row in row_of.values()]
    hop_of = {hop: row for row, hop in enumerate(used)}
    equal = [(hop_of[hop], len(orders) + column, 1.0) for column, (hop, _) in enumerate(ways)]
    equal += [(hop_of[hop], r, -2 * (n - 1) / n) for hop in used for r in hops[hop]]
    equal += [(len(used), r, 1.0) for r in range(len(orders))]

    def matrix(entries: list[tuple[int, int, float]], rows: int) -> csr_array:
        i, j, values = zip(*entries, strict=True)
        return coo_array((values, (i, j)), shape=(rows, time + 1)).tocsr()

    cost = [0.0] * len(orders) + [_DETOUR_COST * (len(way) - 1) for _, way in ways] + [1.0]
    solved = linprog(
        cost,
        matrix(load, len(row_of)),
        [0.0] * len(row_of),
        matrix(equal, len(used) + 1),
        [0.0] * len(used) + [1.0],
        method="highs",
    )
    if solved.status != 0:
        raise EmulationError(
            f"an array cannot be split over {len(orders)} rings on {n} ranks: {solved.message}",
            remedy="take more rings, or let them borrow links by detours",
        )
    borrowed: dict[Arc, float] = defaultdict(float)
    for amount, (hop, way) in zip(solved.x[len(orders) :], ways, strict=False):
        if len(way) > 1 and amount > 1e-9:
            borrowed[hop] += float(amount)
    shares = tuple(max(0.0, round(float(share), 9)) for share in solved.x[: len(orders)])
    return RingSplit(shares, float(solved.x[-1]) / fastest, dict(borrowed))
