# SPDX-License-Identifier: Apache-2.0
"""Columns of a fabric say of each hop what the fabric says of its link."""

import numpy as np
import pytest

from topologies import Fabric
from topologies.families.registry import build
from topologies.model.columns import NO_DIMENSION, columns, distinct


@pytest.fixture(params=["ub-rack", "lumos", "hpn", "slim-fly"])
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return build(request.param)


def test_each_hop_is_a_direction_of_its_link(fabric: Fabric) -> None:
    table = columns(fabric)
    assert len(table.tails) == 2 * len(fabric.links)
    for number, link in enumerate(fabric.links):
        for hop, tail, head in ((2 * number, link.a, link.b), (2 * number + 1, link.b, link.a)):
            assert (table.names[table.tails[hop]], table.ports[hop]) == (tail.node, tail.port)
            assert (table.names[table.heads[hop]], table.arrivals[hop]) == (head.node, head.port)
            assert table.rates[hop] == link.rate_bps
            assert table.dimensions[hop] == (NO_DIMENSION if link.dimension is None else link.dimension)


def test_hops_leave_a_node_in_the_order_of_its_neighbours(fabric: Fabric) -> None:
    table = columns(fabric)
    for number, node in enumerate(fabric.nodes):
        hops = table.leaving[table.first[number] : table.first[number + 1]]
        assert tuple(table.names[head] for head in table.heads[hops]) == fabric.neighbours(node.name)
        assert [fabric.port_to(node.name, name) for name in fabric.neighbours(node.name)] == table.ports[
            hops
        ].tolist()


def test_a_hop_is_found_by_its_ends(fabric: Fabric) -> None:
    table = columns(fabric)
    assert (table.hops(table.tails, table.heads) == table.representative).all()
    nowhere = np.zeros(1, np.int32)
    assert table.hops(nowhere, nowhere).tolist() == [-1]


@pytest.mark.parametrize("numbers", [[], [5], [3, 1, 3, 2, 1], [[2, 2], [7, -1]]])
def test_distinct_numbers_are_those_of_numpy(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, np.int64)).tolist() == np.unique(numbers).tolist()
