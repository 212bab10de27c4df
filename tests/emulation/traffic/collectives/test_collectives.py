# SPDX-License-Identifier: Apache-2.0
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    allreduce_bound_ps,
    allreduce_ring,
    bidirectional_dimension_order,
    mesh_ring,
    ring_bound_ps,
)

DIMS = [(x, y) for x in range(1, 7) for y in range(1, 7) if x * y > 1] + [(8, 8)]


@pytest.mark.parametrize("dims", DIMS)
def test_ring_visits_every_rank_over_direct_links(dims: tuple[int, int]) -> None:
    ring = mesh_ring(dims)
    assert sorted(ring) == list(range(dims[0] * dims[1]))
    for here, there in zip(ring, ring[1:] + ring[:1], strict=True):
        assert (here % dims[0] == there % dims[0]) != (here // dims[0] == there // dims[0])


@pytest.mark.parametrize("dims", [(2, 4), (3, 5), (8, 8)])
def test_halves_send_over_direct_links_only(dims: tuple[int, int]) -> None:
    for transfer in bidirectional_dimension_order(dims, 1 << 12).transfers:
        item, other = (divmod(rank, dims[0]) for rank in (transfer.source, transfer.target))
        assert (item[0] == other[0]) != (item[1] == other[1])


def test_bounds_follow_their_formulas() -> None:
    # D/B is one second here.
    assert allreduce_bound_ps((8, 8), 1 << 20, 8 << 20) == pytest.approx(0.140625e12)
    assert ring_bound_ps(8, 1 << 20, 8 << 20) == pytest.approx(1.75e12)
    assert ring_bound_ps(64, 1 << 20, 8 << 20) == pytest.approx(2 * 63 / 64 * 1e12)
    assert allreduce_bound_ps((8,), 1 << 20, 8 << 20) == pytest.approx(0.25e12)


@pytest.mark.parametrize("dims", [(8,), (2, 2, 2), (0, 4), (1, 1)])
def test_halves_and_rings_need_two_dimensions(dims: tuple[int, ...]) -> None:
    with pytest.raises(EmulationError, match="two"):
        bidirectional_dimension_order(dims, 64)
    with pytest.raises(EmulationError, match="two"):
        mesh_ring(dims)


@pytest.mark.parametrize("order", [(0,), (0, 0), (1, 2), (0, 1, 3)])
def test_a_ring_names_every_rank_once(order: tuple[int, ...]) -> None:
    with pytest.raises(EmulationError, match="exactly once"):
        allreduce_ring(order, 64)
