# SPDX-License-Identifier: Apache-2.0
"""Results are computed once a fabric and arguments, and live as long as the fabric."""

import copy
import gc
import pickle
import weakref
from dataclasses import replace

import pytest

from topologies import ub_rack
from topologies.errors import TopologyError
from topologies.model.computed_once import computed_for_any_circuits, computed_once
from topologies.model.fabric import Fabric

calls: list[tuple[object, ...]] = []


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


@computed_once
def names(fabric: Fabric) -> list[str]:
    """Return the names of all nodes."""
    calls.append((fabric.name,))
    return [node.name for node in fabric.nodes]


@computed_once
def neighbours(fabric: Fabric, node: str, most: int) -> tuple[str, ...]:
    calls.append((fabric.name, node, most))
    return fabric.neighbours(node)[:most]


@computed_once
def nothing(fabric: Fabric) -> None:
    calls.append((fabric.name,))


def test_a_function_of_the_fabric_runs_once_and_returns_the_same_value():
    fabric = ub_rack()
    assert names(fabric) is names(fabric)
    assert len(calls) == 1


def test_none_is_a_result_as_any_other():
    fabric = ub_rack()
    assert nothing(fabric) is None
    assert nothing(fabric) is None
    assert len(calls) == 1


def test_each_combination_of_arguments_and_each_function_has_its_own_result():
    fabric = ub_rack()
    assert len(neighbours(fabric, "npu0", 2)) == 2
    assert len(neighbours(fabric, "npu0", 3)) == 3
    assert neighbours(fabric, "npu0", 2) != neighbours(fabric, "npu9", 2)
    assert names(fabric)[0] == "npu0"
    assert [call[1:] for call in calls] == [("npu0", 2), ("npu0", 3), ("npu9", 2), ()]


def test_equal_fabrics_keep_results_of_their_own():
    names(ub_rack())
    names(ub_rack())
    assert len(calls) == 2


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, replace, lambda fabric: pickle.loads(pickle.dumps(fabric))]
)
def test_copies_and_pickles_start_without_results(again):
    fabric = ub_rack()
    names(fabric)
    other = again(fabric)
    assert other == fabric
    assert not other.cache
    assert names(other) is not names(fabric)
    assert len(calls) == 2


def test_a_failed_computation_is_tried_again():
    fabric = ub_rack()
    for _ in range(2):
        with pytest.raises(TopologyError, match="no node named 'absent'"):
            neighbours(fabric, "absent", 1)
    assert len(calls) == 2


def test_arguments_that_cannot_be_keys_are_refused():
    with pytest.raises(TypeError, match="unhashable"):
        neighbours(ub_rack(), ["npu0"], 1)  # type: ignore[arg-type]


def test_results_end_with_their_owner():
    class Owner:
        def __init__(self):
            self.cache = {}

        @computed_once
        def value(self) -> set[int]:
            return {1}

    gc.freeze()  # otherwise collect() would visit the millions of objects that other tests share
    try:
        owner = Owner()
        result = weakref.ref(owner.value())
        assert owner.value() is result()
        del owner
        gc.collect()
        assert result() is None
    finally:
        gc.unfreeze()


def test_a_decorated_function_keeps_its_name_and_docstring():
    assert names.__name__ == "names"
    assert names.__doc__ == "Return the names of all nodes."


def test_results_for_any_circuits_are_those_of_the_origin():
    @computed_for_any_circuits
    def size(fabric: Fabric) -> list[int]:
        return [len(fabric.nodes)]

    fabric = ub_rack()
    moved = fabric.with_links(fabric.links[:-1], circuits_alone=True)
    assert size(moved) is size(fabric)
    assert names(moved) is not names(fabric)
    assert size(fabric.with_links(fabric.links, circuits_alone=False)) is not size(fabric)
