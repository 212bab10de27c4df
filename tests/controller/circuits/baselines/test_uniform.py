# SPDX-License-Identifier: Apache-2.0
"""Uniform wiring realises less."""

import math

import numpy as np
import pytest

from controller.circuits import (
    allocate,
    allocate_uniform,
    check_crossconnects,
)
from controller.circuits.flow import Ints
from tests.controller.circuits.demands import feasible, full


def check_uniform(links: int, maps: Ints, demand: Ints) -> None:
    check_crossconnects(maps, "uniform")
    held = np.zeros_like(demand)
    k, i = np.nonzero(maps >= 0)
    np.add.at(held, (i, maps[k, i]), 1)
    assert (held <= demand).all()
    assert held.sum() == 2 * links


@pytest.mark.parametrize("ports", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("method", ["exact", "greedy"])
def test_three_pods_get_two_thirds(ports: int, method) -> None:
    demand = ports // 2 * (1 - np.eye(3, dtype=int))
    links, maps = allocate_uniform(demand, ports, method, seconds=math.inf)
    check_uniform(links, maps, demand)
    assert (links, allocate(demand, 1, ports).total) == (ports, 3 * ports // 2)


def test_some_full_demands_of_more_pods_are_not_realised_either() -> None:
    rng = np.random.default_rng(29)
    shares = []
    for _ in range(20):
        pods, ports = int(rng.integers(3, 8)), 2 * int(rng.integers(1, 5))
        demand = full(rng, pods, ports)
        links, maps = allocate_uniform(demand, ports, seconds=math.inf)
        check_uniform(links, maps, demand)
        assert allocate(demand, 1, ports).total == demand.sum() // 2
        shares.append(2 * links / demand.sum())
    assert min(shares) < 1
    assert max(shares) == 1


def test_greedy_is_no_better_than_exact_and_serves_many_pods() -> None:
    rng = np.random.default_rng(31)
    for _ in range(10):
        demand = feasible(rng, 6, 8)
        greedy, maps = allocate_uniform(demand, 8, "greedy")
        check_uniform(greedy, maps, demand)
        assert greedy <= allocate_uniform(demand, 8, "exact", seconds=math.inf)[0]
    demand = full(rng, 40, 8)
    links, maps = allocate_uniform(demand, 8)
    check_uniform(links, maps, demand)
    assert links > 0.9 * demand.sum() / 2
