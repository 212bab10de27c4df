# SPDX-License-Identifier: Apache-2.0
"""Connected components against networkx."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from topologies.model.components import components

NODES = [f"n{number}" for number in range(12)]
EDGES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=14)


@given(EDGES)
def test_components_are_those_of_networkx_in_the_order_of_their_first_nodes(edges):
    graph = nx.Graph(edges)
    graph.add_nodes_from(NODES)
    parts = components(NODES, edges)
    assert {frozenset(part) for part in parts} == {frozenset(part) for part in nx.connected_components(graph)}
    assert sum(map(len, parts)) == len(NODES)
    firsts = [min(map(NODES.index, part)) for part in parts]
    assert [NODES.index(part[0]) for part in parts] == firsts == sorted(firsts)
