# SPDX-License-Identifier: Apache-2.0
"""Parameters shared by graph families, and hosts behind the switches of a graph."""

from typing import TYPE_CHECKING, Annotated, Any

from topologies.families.declaration import Spec
from topologies.model.graphs import DELAY_NS, RATE_GBPS

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["DELAY_NS", "RATE_GBPS", "Delay", "Hosts", "Rate", "with_hosts"]

Rate = Annotated[float, Spec("rate of a link, each way", above=0)]
Delay = Annotated[float, Spec("propagation delay of a link", at_least=0)]
Hosts = Annotated[int, Spec("NPUs behind each switch; 0: NPUs in place of switches", at_least=0)]


def with_hosts(graph: "nx.Graph", hosts: int) -> "nx.Graph":
    """Return the graph with its nodes as switches and `hosts` hosts behind each; for 0 return `graph` itself.

    The hosts of switch S are S.0, S.1, ... Without hosts the nodes of the graph are NPUs.
    """
    if not hosts:
        return graph
    result: Any = graph.__class__()
    for switch in graph.nodes:
        result.add_node(switch, **graph.nodes[switch], kind="switch")
        result.add_edges_from((switch, f"{switch}.{host}") for host in range(hosts))
    result.add_edges_from(graph.edges(data=True))
    return result
