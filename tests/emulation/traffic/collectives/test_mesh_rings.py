# SPDX-License-Identifier: Apache-2.0
"""Rings in all dimensions of a mesh at once, and rings of the links that Walecki's cycles leave idle."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import networkx as nx
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    MeshRings,
    borrowing_rings,
    mesh_multi_ring,
    mesh_rings,
    split_over_rings,
)
from emulation.traffic.schedule.schedule import check, demand


def loads(mesh: MeshRings, elements: int) -> dict[tuple[str, str], Fraction]:
    """Return the part of the array that each channel carries."""
    sent = demand(mesh_multi_ring(mesh, elements), [str(rank) for rank in range(_ranks(mesh))], 1)
    return {channel: Fraction(amount, elements) for channel, amount in sent.items()}


def _ranks(mesh: MeshRings) -> int:
    return len({rank for lines in mesh.lines for line in lines for rank in line})


def full_mesh_channels(dims: tuple[int, int]) -> set[tuple[int, int]]:
    columns, rows = dims
    ranks = range(columns * rows)
    return {
        (a, b)
        for a in ranks
        for b in ranks
        if a != b and (a % columns == b % columns or a // columns == b // columns)
    }


@pytest.mark.parametrize("dims", [(4, 4), (4, 6), (8, 4), (8, 8), (10, 12), (4, 16)])
def test_rings_with_borrowed_links_use_every_channel_of_a_mesh_once(dims: tuple[int, int]) -> None:
    mesh = borrowing_rings(dims)
    used = Counter(mesh.arcs())
    assert set(used.values()) == {1}
    assert set(used) == full_mesh_channels(dims)


def test_idle_links_of_a_rack_form_one_cycle_that_changes_the_dimension_at_every_rank() -> None:
    mesh = borrowing_rings((8, 8))
    there, back = mesh.around
    assert len(set(there)) == 64
    assert back == (there[0], *reversed(there[1:]))
    along_x = [a // 8 == b // 8 for a, b in pairwise((*there, there[0]))]
    assert all(now != after for now, after in pairwise(along_x))
    links = nx.Graph(mesh.arcs())
    assert links.number_of_edges() == 448
    assert {degree for _, degree in links.degree} == {14}


@pytest.mark.parametrize(
    "mesh",
    [
        mesh_rings((4, 4)),
        mesh_rings((3, 5)),
        mesh_rings((5, 3), count=2),
        mesh_rings((3, 4, 2), "undirected"),
        borrowing_rings((4, 4)),
        borrowing_rings((4, 6)),
    ],
    ids=lambda mesh: f"{mesh.dims}, {len(mesh.around)} around",
)
@pytest.mark.parametrize("elements", [1, 97, 960])
def test_rings_in_all_dimensions_are_an_allreduce(mesh: MeshRings, elements: int) -> None:
    schedule = mesh_multi_ring(mesh, elements)
    check(schedule)
    channels = set(mesh.arcs())
    assert all((sent.source, sent.target) in channels for sent in schedule.transfers)


def test_every_channel_of_a_rack_carries_the_bound_of_the_ports() -> None:
    """9/64 D is 2 (63/64) D over 14 links; without the idle links 12 rings carry 14/12 of it."""
    elements = 14 * 12 * 64 * 64
    directed = loads(mesh_rings((8, 8)), elements)
    borrowing = loads(borrowing_rings((8, 8)), elements)
    assert len(directed) == len(borrowing) == 896
    assert set(directed.values()) == set(borrowing.values()) == {Fraction(9, 64)}
    alone = loads(mesh_rings((8, 8), "undirected"), elements)
    assert len(alone) == 768
    assert set(alone.values()) == {Fraction(9, 64) * Fraction(14, 12)}


def test_half_of_the_array_takes_each_dimension_first() -> None:
    ring_schedules, around = split_over_rings(borrowing_rings((8, 8)))
    by_order = Counter[tuple[int, ...]]()
    for rings in ring_schedules:
        by_order[rings.order] += 84 * rings.share  # type: ignore[assignment]
    assert dict(by_order) == pytest.approx({(0, 1): 36, (1, 0): 36})
    assert around == pytest.approx((1 / 14, 1 / 14))


def test_a_slow_link_takes_from_its_ring_alone() -> None:
    mesh = borrowing_rings((4, 4))
    rates = dict.fromkeys(mesh.arcs(), 100.0)
    idle = (mesh.around[0][5], mesh.around[0][6])
    _, around = split_over_rings(mesh, rates | {idle: 25.0})
    assert around[0] == pytest.approx(around[1] / 4)
    _, none = split_over_rings(mesh, rates | {idle: 0.0})
    assert none[0] == 0 < none[1]
    line = mesh.lines[0][2]
    a, b = mesh.along[0][0][:2]
    ring_schedules, _ = split_over_rings(mesh, rates | {(line[a], line[b]): 50.0})
    by_ring = Counter[int]()
    for rings in ring_schedules:
        by_ring[rings.rings[rings.order.index(0)]] += rings.share  # type: ignore[assignment]
    assert by_ring[0] == pytest.approx(by_ring[1] / 2)


def test_rings_of_idle_links_need_two_dimensions_of_an_even_size() -> None:
    for dims in ((8,), (4, 5), (2, 4), (4, 4, 4)):
        with pytest.raises(EmulationError, match=r"expected (2 dimensions|two even sizes from 4)"):
            borrowing_rings(dims)
    with pytest.raises(EmulationError, match="lines of 8 and 4 NPUs do not have 3 rings"):
        mesh_rings((8, 4), count=3)


def test_no_detour_of_a_ring_that_keeps_to_a_line_is_idle() -> None:
    """All paths between neighbours on a ring need a link in use, if every line has the same rings."""
    mesh = mesh_rings((8, 8), "undirected")
    used = set(mesh.arcs())
    idle = nx.Graph(full_mesh_channels((8, 8)) - used)
    assert {len(joined) for joined in nx.connected_components(idle)} == {4}
    assert not any(nx.has_path(idle, *hop) for hop in used)


def test_many_steps_cost_the_rings_around_their_share() -> None:
    """At equal times of both kinds of rings nothing is gained by moving data; slow steps leave no share."""
    mesh = borrowing_rings((8, 8))
    for step in (0.0, 2e-4, 1e-3):
        _, around = split_over_rings(mesh, step=step)
        lines = (1 - sum(around)) * 9 / 64 * 14 / 12
        assert 2 * 63 / 64 * around[0] + 126 * step == pytest.approx(lines)
    assert split_over_rings(mesh, step=2e-3)[1] == (0.0, 0.0)
