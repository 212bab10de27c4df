# SPDX-License-Identifier: Apache-2.0
"""Torus and mesh of any dimensions (k-ary n-cubes: Dally, IEEE Transactions on Computers, 1990)."""

from collections.abc import Sequence
from itertools import product
from typing import Annotated

from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Rate
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["torus"]


@family(
    "NPUs in a torus or mesh of any dimensions, neighbours where a coordinate differs by one",
    source=Source("Performance Analysis of k-ary n-cube Interconnection Networks (1990)", "section 1"),
)
def torus(
    dims: Annotated[Sequence[int], Spec("nodes in each dimension; the first is counted fastest", at_least=2)],
    *,
    wrap: Annotated[bool, Spec("whether the ends of a line are neighbours: a torus, else a mesh")] = True,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
) -> Fabric:
    """Build the NPUs; a line of two NPUs has a single link, with or without `wrap`."""
    import networkx as nx

    graph = nx.Graph()
    all_coordinates = [
        coordinates[::-1] for coordinates in product(*(range(size) for size in reversed(dims)))
    ]
    names = {coordinates: f"npu{number}" for number, coordinates in enumerate(all_coordinates)}
    for coordinates in all_coordinates:
        graph.add_node(names[coordinates], place=coordinates)
    for coordinates in all_coordinates:
        for axis, size in enumerate(dims):
            after = coordinates[axis] + 1
            if after < size or (wrap and size > 2):
                graph.add_edge(
                    names[coordinates], names[(*coordinates[:axis], after % size, *coordinates[axis + 1 :])]
                )
    kind = "torus" if wrap else "mesh"
    name = f"{kind}-{'x'.join(map(str, dims))}"
    return from_graph(graph, name, rate_gbps=rate_gbps, delay_ns=delay_ns, dims=tuple(dims))
