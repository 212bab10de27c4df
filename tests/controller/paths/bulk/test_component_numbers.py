# SPDX-License-Identifier: Apache-2.0
"""Numbers of connected components against components by name."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controller.paths.bulk.component_numbers import component_numbers
from topologies.model.components import components

NODES = [f"n{number}" for number in range(12)]
EDGES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=14)


@given(EDGES)
def test_component_numbers_are_the_least_node_of_each_component(edges):
    ends = np.array([(NODES.index(a), NODES.index(b)) for a, b in edges], np.int64).reshape(-1, 2)
    numbers = component_numbers(len(NODES), ends[:, 0], ends[:, 1])
    least = {node: min(map(NODES.index, part)) for part in components(NODES, edges) for node in part}
    assert numbers.tolist() == [least[node] for node in NODES]
