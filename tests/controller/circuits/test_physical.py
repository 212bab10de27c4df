# SPDX-License-Identifier: Apache-2.0
"""Every electrical port hears whom it talks to, and where it does not that is found."""

import numpy as np
import pytest

from controller import PlanError
from controller.circuits import allocate, check_crossconnects, check_l2, crossconnects
from tests.controller.circuits.demands import full

RING = np.array([[1, 2, 0]])


def peers(switches: np.ndarray, pod: int, port: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the peers that a port of a Pod sends to and hears, as (Pod, port), followed fibre by fibre."""
    talks = int(switches[port, pod]), port ^ 1
    hears = int(np.flatnonzero(switches[port ^ 1] == pod)[0]), port ^ 1
    return talks, hears


def test_fibre_by_fibre_both_directions_lead_to_one_port() -> None:
    rng = np.random.default_rng(43)
    plan = allocate(full(rng, 6, 16), 2, 8)
    check_l2(plan.maps)
    for group in crossconnects(plan.maps):
        assert group.shape == (8, 6)
        for port in range(8):
            for pod in range(6):
                talks, hears = peers(group, pod, port)
                assert talks == hears
                assert peers(group, *talks) == ((pod, port), (pod, port))


def test_the_odd_switch_is_the_even_one_backwards() -> None:
    assert crossconnects(RING).tolist() == [[1, 2, 0], [2, 0, 1]]
    assert crossconnects(np.array([[1, -1, -1]])).tolist() == [[1, -1, -1], [-1, 0, -1]]


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ([[1, 2, 0], [1, 2, 0]], "port 0 of Pod 0 sends to Pod 1, but receives from Pod 2"),
        (
            [[1, 2, 0], [2, 0, -1]],
            "optical switch 0: port 0 of Pod 1 sends to Pod 2, but receives from nobody",
        ),
        ([[1, 1, -1], [1, -1, -1]], "optical switch 0: ports 0 and 1 both lead to 1"),
        (
            [[1, 3, 0], [2, 0, 1]],
            "optical switch 0: port 1 leads to port 3, which does not exist; use ports from 0 to 2",
        ),
        ([[1, 2, 0]], "a group has 1 switches, which is odd; use an even number: cross wiring has pairs"),
    ],
)
def test_what_is_wrong_is_named(switches: list[list[int]], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        check_crossconnects(np.array(switches))


def test_a_group_is_named_too() -> None:
    wrong = np.array([[[1, 2, 0], [2, 0, 1]], [[1, 2, 0], [1, 2, 0]]])
    with pytest.raises(PlanError, match="group 1, optical switch 0"):
        check_crossconnects(wrong)
    with pytest.raises(PlanError, match="ports 0 and 1 both lead to 2"):
        check_l2(np.array([[2, 2, -1]]))


def test_uniform_wiring_only_holds_matchings() -> None:
    check_crossconnects(np.array([[1, 0, -1]]), "uniform")
    with pytest.raises(PlanError, match="sends to Pod 1, but receives from Pod 2"):
        check_crossconnects(RING, "uniform")
