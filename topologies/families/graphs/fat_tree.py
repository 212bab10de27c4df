# SPDX-License-Identifier: Apache-2.0
"""Fat tree of switches with k ports (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008)."""

from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Rate
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["fat_tree"]


@family(
    "Fat tree: k Pods of edge and aggregation switches with k ports, k^3/4 NPUs",
    source=Source("A Scalable, Commodity Data Center Network Architecture (SIGCOMM 2008)", "section 2.2"),
)
def fat_tree(
    ports: Annotated[
        int, Spec("ports of a switch, k in the paper, an even number", at_least=2, at_most=32)
    ] = 4,
    *,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
) -> Fabric:
    """Build the Pods and the cores; core c.i joins aggregation switch c of every Pod."""
    import networkx as nx

    if ports % 2:
        raise TopologyError(
            f"fat-tree: ports is {ports}, which is not an even number above 0",
            remedy="give an even number of ports",
        )
    half = range(ports // 2)
    graph = nx.Graph()
    for pod in range(ports):
        for edge in half:
            graph.add_node(f"edge{pod}.{edge}", kind="switch", tier=1)
            graph.add_edges_from((f"edge{pod}.{edge}", f"npu{pod}.{edge}.{host}") for host in half)
        for agg in half:
            graph.add_node(f"agg{pod}.{agg}", kind="switch", tier=2)
            graph.add_edges_from((f"edge{pod}.{edge}", f"agg{pod}.{agg}") for edge in half)
    for agg in half:
        for core in half:
            graph.add_node(f"core{agg}.{core}", kind="switch", tier=3)
            graph.add_edges_from((f"agg{pod}.{agg}", f"core{agg}.{core}") for pod in range(ports))
    return from_graph(graph, f"fat-tree-{ports}", rate_gbps=rate_gbps, delay_ns=delay_ns)
