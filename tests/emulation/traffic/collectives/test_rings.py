# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    arcs_of,
    balanced_rings,
    check_rings,
    multi_ring,
    ring_bound_ps,
    rings,
    walecki,
)
from emulation.traffic.schedule.schedule import check, demand

# Facts of K8 that others have published or computed, not made by this code.
KNOWN_SEVEN = [
    tuple(map(int, ring))
    for ring in ("01457236", "02713564", "03746512", "04762531", "05432617", "06734215", "07524163")
]


@pytest.mark.parametrize("n", range(3, 18))
def test_cycles_of_walecki_share_no_edge_and_leave_a_perfect_matching_at_most(n: int) -> None:
    cycles, matching = walecki(n)
    assert len(cycles) == (n - 1) // 2
    edges = [frozenset(arc) for cycle in cycles for arc in arcs_of(cycle)]
    left = [frozenset(pair) for pair in matching]
    assert len({*edges, *left}) == len(edges) + len(left) == n * (n - 1) // 2
    assert sorted(rank for pair in matching for rank in pair) == (list(range(n)) if n % 2 == 0 else [])


@pytest.mark.parametrize("n", [2, 3, 5, 7, *range(8, 17)])
def test_directed_rings_use_every_channel_once(n: int) -> None:
    result = rings(n)
    check_rings(result)
    assert len(result) == n - 1
    assert len({arc for ring in result for arc in arcs_of(ring)}) == n * (n - 1)


@pytest.mark.parametrize("n", [4, 6])
def test_four_and_six_ranks_have_no_more_than_cycles_both_ways(n: int) -> None:
    assert len(rings(n)) == n - 2


def test_eight_ranks_have_six_rings_both_ways_and_seven_directed() -> None:
    assert len(rings(8, "undirected")) == 6
    assert len({arc for ring in rings(8, "undirected") for arc in arcs_of(ring)}) == 48
    assert len(rings(8)) == 7
    check_rings(KNOWN_SEVEN)


def test_rings_that_share_a_channel_are_refused() -> None:
    with pytest.raises(EmulationError, match="both go from 1 to 2"):
        check_rings([(0, 1, 2, 3), (1, 2, 0, 3)])
    with pytest.raises(EmulationError, match="exactly once"):
        check_rings([(0, 1, 1)])
    with pytest.raises(EmulationError, match="needs at least one ring"):
        multi_ring([], 10)


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize("n", [3, 5, 8])
def test_several_rings_are_an_allreduce(n: int, kind: str) -> None:
    check(multi_ring(rings(n, kind), 500))  # type: ignore[arg-type]
    check(multi_ring(KNOWN_SEVEN, 13))


def test_no_channel_carries_more_than_its_rings_share() -> None:
    elements = 7 * 8 * 100
    load = demand(multi_ring(rings(8), elements), [str(rank) for rank in range(8)], 1)
    assert set(load.values()) == {elements // 4}
    assert len(load) == 56
    both = demand(multi_ring(rings(8, "undirected"), 48 * 100), [str(rank) for rank in range(8)], 1)
    assert {Fraction(each, 4800) for each in both.values()} == {Fraction(7, 24)}


def test_equal_links_are_split_equally() -> None:
    split = balanced_rings(rings(8))
    assert split.shares == pytest.approx([1 / 7] * 7)
    assert split.time == pytest.approx(1 / 4)
    assert not split.borrowed
    assert balanced_rings(rings(8, "undirected")).time == pytest.approx(7 / 24)
    # D/B is one second here.
    assert ring_bound_ps(8, 1 << 20, 8 << 20) / 7 == pytest.approx(0.25e12)
    assert ring_bound_ps(8, 1 << 20, 8 << 20) / 6 == pytest.approx(7 / 24 * 1e12)


def test_a_ring_over_a_slow_link_carries_less_and_one_over_a_dead_link_nothing() -> None:
    result = rings(8)
    slow = arcs_of(result[2])[0]
    split = balanced_rings(result, {slow: 0.5})
    assert split.shares[2] == pytest.approx(1 / 13)
    assert split.time == pytest.approx(2 * 7 / 8 * 2 / 13)
    dead = balanced_rings(result, {slow: 0.0})
    assert dead.shares[2] == 0
    assert dead.time == pytest.approx(1.75 / 6)
    # All other links are full: a detour would take from the other rings what it gives to this one.
    assert balanced_rings(result, {slow: 0.0}, detours=True).time == pytest.approx(1.75 / 6)


def test_idle_links_are_borrowed() -> None:
    item = rings(8)[:1]
    assert balanced_rings(item).time == pytest.approx(1.75)
    # 8 hops of 1.75: t each on the direct link, the rest on two links, 56 links of t in all.
    borrowing = balanced_rings(item, detours=True)
    assert borrowing.time == pytest.approx(28 / 64)
    assert set(borrowing.borrowed) == set(arcs_of(item[0]))
    dead = arcs_of(item[0])[3]
    around = balanced_rings(item, {dead: 0.0}, detours=True)
    assert around.borrowed[dead] == pytest.approx(1.75)
    assert around.time < 1


def test_a_matching_alone_is_no_detour() -> None:
    # Six rings leave four links idle, no two of which meet: a detour would load a link that is in use.
    assert balanced_rings(rings(8, "undirected"), detours=True).time == pytest.approx(7 / 24)


def test_no_way_through_dead_links_is_an_error() -> None:
    item = rings(3)[:1]
    with pytest.raises(EmulationError, match="cannot be split over"):
        balanced_rings(item, {arcs_of(item[0])[0]: 0.0})
