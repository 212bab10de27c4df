# SPDX-License-Identifier: Apache-2.0
"""Max-min fair rates against linear programs solved one after the other."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from harness.errors import ModelError
from papers.flow_level.rates import Floats, Routes, max_min
from tests.papers.flow_level.flows import joined, routes


def exact(flows: Routes, capacity: Floats, limit: Floats) -> Floats:
    """Raise the least rate as far as it goes, hold who cannot have more, and again: a program for each."""
    number = len(flows.counts)
    loads = np.zeros((len(capacity), number))
    np.add.at(loads, (flows.links, flows.rows), flows.loads)
    held = np.full(number, np.nan)
    while np.isnan(held).any():
        free = np.isnan(held)
        bounds = [(0, limit[f]) if free[f] else (held[f], held[f]) for f in range(number)]
        level = _best(loads, capacity, bounds, free)
        for f in np.flatnonzero(free):
            low = [(level, limit[g]) if free[g] else bounds[g] for g in range(number)]
            only = np.zeros(number, bool)
            only[f] = True
            most = linprog(-only.astype(float), loads, capacity + 1e-12, bounds=low, method="highs")
            if -most.fun <= level + 1e-7:
                held[f] = level
    return held


def _best(
    loads: Floats, capacity: Floats, bounds: Sequence[tuple[float, float]], free: NDArray[np.bool_]
) -> float:
    number = len(free)
    cost = np.append(np.zeros(number), -1.0)
    above = np.zeros((int(free.sum()), number + 1))
    above[np.arange(len(above)), np.flatnonzero(free)] = -1
    above[:, -1] = 1
    limits = np.vstack([np.hstack([loads, np.zeros((len(capacity), 1))]), above])
    right = np.append(capacity, np.zeros(len(above)))
    result = linprog(cost, limits, right, bounds=[*bounds, (0, None)], method="highs")
    assert result.status == 0
    return float(result.x[-1])


def some(seed: int) -> tuple[Routes, Floats, Floats]:
    rng = np.random.default_rng(seed)
    links, number = int(rng.integers(2, 7)), int(rng.integers(2, 8))
    flows = []
    for _ in range(number):
        chosen = rng.choice(links, int(rng.integers(1, links)), replace=False)
        flows.append([(int(link), float(rng.choice([0.25, 0.5, 1.0]))) for link in chosen])
    created = routes(flows, rng.integers(1, 4, number))
    limit = np.where(rng.random(number) < 0.3, rng.uniform(0.1, 2, number), 50.0)
    return created, rng.uniform(0.5, 4, links), limit


@pytest.mark.parametrize("seed", range(40))
def test_rates_are_those_of_the_programs(seed: int) -> None:
    flows, capacity, limit = some(seed)
    assert max_min(flows, capacity, limits=limit) == pytest.approx(exact(flows, capacity, limit), abs=1e-6)


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_later_class_has_what_the_first_left(seed: int) -> None:
    flows, capacity, limit = some(seed)
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, len(flows.counts))
    result = max_min(flows, capacity, classes, limit)
    left = capacity.copy()
    for level in (0, 1):
        own = np.flatnonzero(classes == level)
        if not len(own):
            continue
        entries = np.isin(flows.rows, own)
        part = Routes(
            np.searchsorted(own, flows.rows[entries]),
            flows.links[entries],
            flows.weights[entries],
            flows.counts[own],
        )
        rates = exact(part, np.maximum(left, 0), limit[own])
        assert result[own] == pytest.approx(rates, abs=1e-6)
        np.subtract.at(left, part.links, part.loads * rates[part.rows])


def test_rows_with_a_count_are_that_many_flows() -> None:
    item = routes([[(0, 1.0)], [(0, 1.0), (1, 0.5)]], [3, 2])
    apart = routes([[(0, 1.0)]] * 3 + [[(0, 1.0), (1, 0.5)]] * 2)
    capacity = np.array([4.0, 0.5])
    assert max_min(item, capacity)[[0, 0, 0, 1, 1]] == pytest.approx(max_min(apart, capacity))
    assert max_min(item, capacity) == pytest.approx([1.0, 0.5])


def test_parts_joined_are_one() -> None:
    parts = [routes([[(0, 1.0)]]), routes([]), routes([[(1, 1.0), (0, 2.0)], [(1, 0.5)]])]
    whole = joined(parts)
    assert whole.rows.tolist() == [0, 1, 1, 2]
    assert max_min(whole, [3.0, 1.0]) == pytest.approx([5 / 3, 2 / 3, 2 / 3])
    assert max_min(joined([]), [1.0]).tolist() == []


def test_a_link_without_capacity_stops_its_flows_only() -> None:
    flows = routes([[(0, 1.0), (1, 1.0)], [(1, 1.0)]])
    assert max_min(flows, [0.0, 1.0]) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    ("flows", "capacity", "words"),
    [
        (routes([[]]), [1.0], "flow 0 uses no link and has no limit"),
        (routes([[(3, 1.0)]]), [1.0], "a flow uses link 3, but capacities were given for 1 links"),
        (routes([[(0, 1.0)]]), [-1.0], "the capacity of link 0 is -1, below 0; give 0 or more"),
        (routes([[(0, -1.0)]]), [1.0], "below 0"),
    ],
)
def test_what_cannot_be_is_refused(flows: Routes, capacity: list[float], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        max_min(flows, capacity)
