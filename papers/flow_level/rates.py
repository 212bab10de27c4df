# SPDX-License-Identifier: Apache-2.0
"""Max-min fair rates of flows over links, with strict priority between classes.

A row stands for a number of flows with equal links, weights and rates. The weight of a link is the share of
a flow's rate that the link carries; a flow that is split over paths has weights below 1. Rates and capacities
have the same unit, which the caller chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import ModelError

__all__ = ["Floats", "Ints", "Routes", "max_min"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Relative tolerance between fair shares of links that count as equal.
_EQUAL = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Routes:
    """Rows of flows; `rows`, `links` and `weights` have an entry for each link of each row.

    Attributes:
        rows: row of each entry.
        links: link of each entry.
        weights: share of a flow's rate that the link carries.
        counts: number of flows of each row.
    """

    rows: Ints
    links: Ints
    weights: Floats
    counts: Floats

    @classmethod
    def padded(cls, paths: Ints, weight: float = 1.0, counts: Floats | None = None) -> Self:
        """Return the routes of paths: row i of `paths` lists the links of row i, padded with -1.

        Args:
            weight: weight of every link.
            counts: number of flows of each row; 1 if None.
        """
        rows, columns = np.nonzero(paths >= 0)
        counts = np.ones(len(paths)) if counts is None else counts
        return cls(rows, paths[rows, columns], np.full(len(rows), weight), counts)

    @property
    def loads(self) -> Floats:
        """Load of each entry when every flow sends at a rate of 1."""
        return self.weights * self.counts[self.rows]

    def total(self) -> tuple[Ints, Floats]:
        """Return the links in ascending order, and the load of each when every flow sends at a rate of 1."""
        links, where = np.unique(self.links, return_inverse=True)
        return links, np.bincount(where, self.loads, len(links)).astype(float)


def max_min(
    flows: Routes, capacities: ArrayLike, classes: ArrayLike | None = None, limits: ArrayLike | float = np.inf
) -> Floats:
    """Return the rate of a flow of each row.

    Classes are served in ascending order; each class shares the capacity that earlier classes leave.

    Args:
        flows: rows of flows.
        capacities: capacity of each link.
        classes: class of each row, 0 first; all rows are in one class if None.
        limits: largest rate of a flow, by row or for all rows.

    Raises:
        ModelError: A capacity, a weight or a count is below 0, a link has no capacity, or a flow has neither
            a link nor a limit.
    """
    capacity = np.asarray(capacities, float)
    limit = np.broadcast_to(np.asarray(limits, float), len(flows.counts))
    priority = np.zeros(len(limit), np.int64) if classes is None else np.asarray(classes, np.int64)
    _check(flows, capacity, limit)
    rates, left = np.zeros(len(limit)), capacity.copy()
    for level in np.unique(priority):
        _fill(rates, left, priority == level, flows, limit)
    return rates


def _fill(rates: Floats, left: Floats, open_rows: NDArray[np.bool_], flows: Routes, limit: Floats) -> None:
    """Set the rates of a class, `open_rows`, and subtract its load from the capacities in `left`.

    All rates rise together until each flow meets a full link or its limit. If no flow of a link has a smaller
    fair share on another link, nor a smaller limit, the link will be full at its own fair share. All such
    links are settled in one round, so few rounds are needed.
    """
    entries = flows.loads > 0
    rows, links, loads = flows.rows[entries], flows.links[entries], flows.loads[entries]
    used = np.zeros(len(left))
    while open_rows.any():
        there = open_rows[rows]
        rows, links, loads = rows[there], links[there], loads[there]
        carried = np.bincount(links, loads, len(left))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(carried > 0, np.maximum(left - used, 0) / carried, np.inf)
        seen = limit.copy()
        np.minimum.at(seen, rows, share[links])
        # The smallest fair share or limit of any flow of the link.
        least = np.full(len(left), np.inf)
        np.minimum.at(least, links, seen[rows])
        full = share <= least * (1 + _EQUAL)
        settled = open_rows & (limit <= seen)
        settled[rows[full[links]]] = True
        settled &= open_rows
        rates[settled] = seen[settled]
        now = settled[rows]
        used += np.bincount(links[now], loads[now] * rates[rows[now]], len(left))
        open_rows = open_rows & ~settled
    left -= used
    np.maximum(left, 0, out=left)


def _check(flows: Routes, capacity: Floats, limit: Floats) -> None:
    if (capacity < 0).any():
        link = int(np.argmin(capacity))
        raise ModelError(
            f"the capacity of link {link} is {capacity[link]:g}, below 0", remedy="give 0 or more"
        )
    if (flows.weights < 0).any() or (flows.counts < 0).any():
        least = min(flows.weights.min(initial=0), flows.counts.min(initial=0))
        raise ModelError(f"a weight or a count of flows is {least:g}, below 0", remedy="give 0 or more")
    if len(flows.links) and (flows.links.min() < 0 or flows.links.max() >= len(capacity)):
        raise ModelError(
            f"a flow uses link {int(flows.links.max())}, but capacities were given for {len(capacity)} links",
            remedy="give the capacity of every link",
        )
    endless = np.isinf(limit) & (np.bincount(flows.rows, flows.loads, len(limit)) <= 0)
    if endless.any():
        raise ModelError(
            f"flow {int(np.argmax(endless))} uses no link and has no limit",
            remedy="give the flow a link or a finite limit",
        )
