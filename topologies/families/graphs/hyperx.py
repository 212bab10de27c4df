# SPDX-License-Identifier: Apache-2.0
"""HyperX (Ahn, Binkert, Davis, McLaren, Schreiber, SC 2009): the switches of each line are all neighbours."""

from collections.abc import Sequence
from itertools import product
from typing import Annotated

from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Hosts, Rate, with_hosts
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["hyperx"]


@family(
    "HyperX: switches in a mesh of dimensions, all of a line joined to each other",
    source=Source(
        "HyperX: Topology, Routing, and Packaging of Efficient Large-Scale Networks (SC 2009)", "2"
    ),
)
def hyperx(
    dims: Annotated[Sequence[int], Spec("switches in each dimension", at_least=2)] = (4, 4),
    *,
    hosts: Hosts = 2,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
) -> Fabric:
    """Build the switches and their hosts."""
    import networkx as nx

    graph = nx.Graph()
    for coordinates in product(*map(range, dims)):
        name = "s" + ".".join(map(str, coordinates))
        graph.add_node(name, **_position(coordinates, dims))
        for axis, at in enumerate(coordinates):
            for lower in range(at):
                graph.add_edge(
                    "s" + ".".join(map(str, (*coordinates[:axis], lower, *coordinates[axis + 1 :]))), name
                )
    name = f"hyperx-{'x'.join(map(str, dims))}"
    return from_graph(with_hosts(graph, hosts), name, rate_gbps=rate_gbps, delay_ns=delay_ns)


def _position(coordinates: Sequence[int], dims: Sequence[int]) -> dict[str, float]:
    """Return the position of a switch in drawings: two dimensions as a plane, planes side by side."""
    column, row = (*coordinates, 0)[:2]
    plane, size = 0, 1
    for at, count in zip(coordinates[2:], dims[2:], strict=True):
        plane, size = plane + at * size, size * count
    return {"x": float(column + plane * (dims[0] + 1)), "y": float(row)}
