# SPDX-License-Identifier: Apache-2.0
"""A cut in a short line costs little more than the remaining links require."""

from itertools import pairwise

import pytest

from controller.paths.shares.weights import share_load
from controller.schemes.registry import scheme_for
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import read
from tests.harness.run.embedded.scenarios import CUT, cut_line

BLIND_US = 2.0  # detection, and the reaction of the link's ends


def bound_us(ready: Prepared) -> float:
    """Return the least time of the remaining links: permitted paths of up to three hops, best shares."""
    fabric = ready.fabric
    router = scheme_for(fabric, failed={CUT})
    paths = {
        pair: [path for hops in (1, 2, 3) for path in router.paths_of_length(*pair, hops)]
        for pair in ready.demand
    }
    assert not any(
        {"npu0", "npu1"} == {*hop} for known in paths.values() for path in known for hop in pairwise(path)
    )
    load = share_load(fabric, ready.demand, paths)
    return load.utilisation * max(ready.demand.values()) * 8 / load.fastest * 1e6


@pytest.mark.parametrize("dims", [[3, 5], [4, 4]])
@pytest.mark.parametrize("at_us", [0.001, 4])
def test_a_cut_costs_little_more_than_the_links_that_remain_allow(dims: list[int], at_us: float) -> None:
    (ready,) = prepare(*read(Document.of_values(cut_line(dims, at_us, elements=524288, control_us=1))))
    results = observe(ready, 1)
    assert results.correct_nodes == results.nodes
    assert results.completion_ps is not None
    assert results.completion_ps / 1e6 < 1.2 * bound_us(ready) + BLIND_US
