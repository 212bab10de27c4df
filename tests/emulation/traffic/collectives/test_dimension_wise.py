# SPDX-License-Identifier: Apache-2.0
from itertools import product
from math import prod

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    allreduce_bound_ps,
    balanced,
    bidirectional_dimension_order,
    dimension_wise,
    direct,
    gather_bound_ps,
    in_order,
    load_of,
)
from emulation.traffic.schedule.data import compare, make_data, truth
from emulation.traffic.schedule.schedule import Combine, Transfer, check, demand, slice_schedule
from tests.oracle.agent import Agent

MESHES = [(2,), (8,), (4, 4), (2, 5), (1, 3), (2, 3, 4), (2, 2, 2, 2), (3, 1, 2)]


@pytest.mark.parametrize("dims", MESHES)
@pytest.mark.parametrize("elements", [1, 7, 600])
@pytest.mark.parametrize("kind", ["allreduce", "reduce-scatter", "all-gather"])
def test_every_kind_does_what_it_says_on_every_mesh(dims: tuple[int, ...], elements: int, kind: str) -> None:
    check(dimension_wise(dims, elements, kind=kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("dims", [(4, 4), (2, 3, 4), (2, 2, 2, 2)])
def test_whole_pieces_may_be_exchanged_along_the_last_dimensions(dims: tuple[int, ...]) -> None:
    for unscattered_dims in range(len(dims)):
        schedule = dimension_wise(dims, 600, unscattered_dims=unscattered_dims)
        check(schedule)
        assert schedule.steps == 2 * len(dims) - unscattered_dims


@pytest.mark.parametrize("kind", ["allreduce", "reduce-scatter", "all-gather"])
def test_direct_is_one_step_each_way(kind: str) -> None:
    schedule = direct(8, 800, kind)  # type: ignore[arg-type]
    check(schedule)
    assert schedule.steps == (2 if kind == "allreduce" else 1)
    load = demand(schedule, [str(rank) for rank in range(8)], 1)
    assert set(load.values()) == {200 if kind == "allreduce" else 100}


def test_two_halves_are_what_they_were() -> None:
    """Written out for 2 x 2 and 8 elements: figures of runs depend on the order of sends as well."""
    reduce, copy = Combine.REDUCE, Combine.COPY
    first = [
        Transfer(0, 0, 1, 2, 2, reduce), Transfer(3, 0, 1, 0, 2, copy),
        Transfer(1, 0, 2, 1, 1, reduce), Transfer(2, 0, 2, 0, 1, copy),
        Transfer(0, 2, 3, 2, 2, reduce), Transfer(3, 2, 3, 0, 2, copy),
        Transfer(1, 2, 0, 0, 1, reduce), Transfer(2, 2, 0, 1, 1, copy),
    ]  # fmt: skip
    schedule = bidirectional_dimension_order((2, 2), 8)
    assert list(schedule.transfers[:8]) == first
    assert schedule.name == "allreduce-bidirectional-dimension-order-2x2"
    assert len(schedule.transfers) == 32


@pytest.mark.parametrize("dims", [(8, 8), (2, 4), (4, 4, 4), (8, 8, 4, 4), (3, 5, 2)])
def test_balanced_shares_reach_the_bound_on_equal_links(dims: tuple[int, ...]) -> None:
    shares = balanced(dims)
    total = sum(shares.values())
    loads = [
        sum(w * load_of(dims, order)[d] for order, w in shares.items()) / total for d in range(len(dims))
    ]
    least = 2 * (1 - 1 / prod(dims)) / sum(size - 1 for size in dims)
    assert loads == pytest.approx([least] * len(dims), rel=1e-4)
    assert len(shares) <= len(dims)


def test_equal_squares_are_halved_and_slow_dimensions_get_less() -> None:
    assert balanced((8, 8)) == {(0, 1): 0.5, (1, 0): 0.5}
    shares = balanced((8, 8), (4, 1))
    assert shares[0, 1] > shares[1, 0]


def test_loads_are_those_of_the_schedule() -> None:
    dims, elements = (2, 3, 4), 24 * 100
    for order, unscattered_dims in product([(0, 1, 2), (2, 0, 1)], [0, 1, 2]):
        schedule = dimension_wise(dims, elements, shares={order: 1.0}, unscattered_dims=unscattered_dims)
        busiest = [0.0] * 3
        for (source, target), amount in demand(schedule, list(map(str, range(24))), 1).items():
            apart = abs(int(source) - int(target))
            d = 0 if apart < 2 else 1 if apart < 6 else 2
            busiest[d] = max(busiest[d], amount / elements)
        assert busiest == pytest.approx(load_of(dims, order, unscattered_dims=unscattered_dims))


def test_bounds() -> None:
    # D/B is one second here.
    assert allreduce_bound_ps((8, 8, 4, 4), 1 << 20, 8 << 20) == pytest.approx(2 * 1023 / 1024 / 20 * 1e12)
    assert gather_bound_ps(8, 1 << 20, 7 * (8 << 20)) == pytest.approx(0.125e12)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"dims": (1, 1)}, "two ranks"),
        ({"dims": ()}, "two ranks"),
        ({"dims": (2, 2), "unscattered_dims": 2}, "exchange whole pieces"),
        ({"dims": (2, 2), "unscattered_dims": 1, "kind": "all-gather"}, "exchange whole pieces"),
        ({"dims": (2, 2), "shares": {(0, 0): 1.0}}, "each of 2 dimensions once"),
        ({"dims": (2, 2), "shares": {(0, 1): -1.0}}, "shares"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict, match: str) -> None:
    with pytest.raises(EmulationError, match=match):
        dimension_wise(**{"elements": 8, **arguments})


@pytest.mark.long
def test_a_thousand_ranks_share_their_plans() -> None:
    dims, elements = (8, 8, 4, 4), 1 << 14
    schedule = dimension_wise(dims, elements, shares=in_order(dims))
    sliced = slice_schedule(schedule)
    inputs = [make_data(rank, elements, "int32", 1) for rank in range(1024)]
    assert compare(truth(sliced, inputs), inputs, sliced).right
    agent = Agent(77, sliced, inputs[77], range(1, 1025))
    assert len(sliced.cells) == 1024
    plans = sliced.plans[77]
    # One for each peer's pieces and one for its own: what a rank does depends on nothing else of a cell.
    assert len({id(plan) for plan in plans}) == 7 + 7 + 3 + 3 + 1
    assert sum(len(plan.phases) for plan in plans) == (128 + 16 + 4 + 1) + 1023
    assert agent.stats.sent == 0
