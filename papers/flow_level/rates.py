# SPDX-License-Identifier: Apache-2.0
"""Max-min fair rates of flows over links, with strict priority between classes.

A row stands for a number of flows with equal links, weights and rates. The weight of a link is the share of
a flow's rate that the link carries; a flow that is split over paths has weights below 1. Rates and capacities
have the same unit, which the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import ModelError

__all__ = ["Floats", "Ints", "Routes", "joined", "max_min", "routes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Relative tolerance between fair shares of links that count as equal.
_EQUAL = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Routes:
    """Rows of flows: row f stands for `counts[f]` flows over `links[starts[f]:starts[f + 1]]`.

    `weights` has an entry for each entry of `links`.
    """

    starts: Ints
    links: Ints
    weights: Floats
    counts: Floats

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def rows(self) -> Ints:
        """Row of each entry of `links`."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def loads(self) -> Floats:
        """Load of each entry of `links` when every flow sends at a rate of 1."""
        return self.weights * self.counts[self.rows]

    def total(self) -> tuple[Ints, Floats]:
        """Return the links in ascending order, and the load of each when every flow sends at a rate of 1."""
        links, where = np.unique(self.links, return_inverse=True)
        return links, np.bincount(where, self.loads, len(links)).astype(float)


def routes(flows: Iterable[Sequence[tuple[int, float]]], counts: ArrayLike | None = None) -> Routes:
    """Return a row for each flow.

    Args:
        flows: pairs (link, weight) of each flow; the weights of a link that is named twice add up.
        counts: number of flows that each row stands for; 1 if None.

    Raises:
        ModelError: The numbers of flows and of counts differ.
    """
    starts, links, weights = [0], [], []
    for flow in flows:
        carried: dict[int, float] = {}
        for link, weight in flow:
            carried[link] = carried.get(link, 0.0) + weight
        links += carried
        weights += carried.values()
        starts.append(len(links))
    number = np.ones(len(starts) - 1) if counts is None else np.asarray(counts, float)
    if len(number) != len(starts) - 1:
        raise ModelError(
            f"{len(number)} counts were given for {len(starts) - 1} flows",
            remedy="give one count for each flow",
        )
    return Routes(np.array(starts), np.array(links, np.int64), np.array(weights, float), number)


def joined(parts: Sequence[Routes]) -> Routes:
    """Concatenate the rows of all parts."""
    if not parts:
        return Routes(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return Routes(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([part.links for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def max_min(
    flows: Routes,
    capacities: ArrayLike,
    classes: ArrayLike | None = None,
    limits: ArrayLike | float = np.inf,
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
    number = len(flows)
    limit = np.broadcast_to(np.asarray(limits, float), (number,)).copy()
    priority = np.zeros(number, np.int64) if classes is None else np.asarray(classes, np.int64)
    _check(flows, capacity, limit)
    rates = np.zeros(number)
    left = capacity.copy()
    rows, loads = flows.rows, flows.loads
    kept = loads > 0
    rows, links, loads = rows[kept], flows.links[kept], loads[kept]
    for level in np.unique(priority):
        own = priority[rows] == level
        members = np.flatnonzero(priority == level)
        _fill(rates, left, members, rows[own], links[own], loads[own], limit)
    return rates


def _fill(
    rates: Floats, left: Floats, members: Ints, rows: Ints, links: Ints, loads: Floats, limit: Floats
) -> None:
    """Set the rates of a class in `rates`, and subtract its load from the capacities in `left`.

    All rates rise together until each flow meets a full link or its limit. If no flow of a link has a smaller
    fair share on another link, nor a smaller limit, the link will be full at its own fair share. All such
    links are settled in one round, so few rounds are needed.
    """
    open_rows = np.zeros(len(rates), bool)
    open_rows[members] = True
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
        open_rows &= ~settled
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
    carried = np.bincount(flows.rows, flows.loads, len(flows)) if len(flows) else np.zeros(0)
    endless = np.isinf(limit) & (carried <= 0)
    if endless.any():
        raise ModelError(
            f"flow {int(np.argmax(endless))} uses no link and has no limit",
            remedy="give the flow a link or a finite limit",
        )
