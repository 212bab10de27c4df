# SPDX-License-Identifier: Apache-2.0
"""Parameters that graph families share, and hosts behind the switches of a graph."""

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
    """Return the graph of switches with so many hosts behind each, or unchanged with NPUs as nodes for 0.

    Switch S has the hosts S.0, S.1 and so on.
    """
    if not hosts:
        return graph
    result: Any = graph.__class__()
    for switch in graph.nodes:
        result.add_node(switch, **graph.nodes[switch], kind="switch")
        result.add_edges_from((switch, f"{switch}.{host}") for host in range(hosts))
    result.add_edges_from(graph.edges(data=True))
    return result
