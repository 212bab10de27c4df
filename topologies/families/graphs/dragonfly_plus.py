# SPDX-License-Identifier: Apache-2.0
"""Dragonfly+ (Shpiner et al., HiPINEB 2017): leaves below spines in groups, joined by links of spines."""

from typing import Annotated

from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.dragonfly import GlobalDelay, Groups, join_groups, number_of_groups
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Rate
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["dragonfly_plus"]


@family(
    "Dragonfly+: groups of leaf switches below spine switches, global links between spines of all groups",
    source=Source("Dragonfly+: Low Cost Topology for Scaling Datacenters (HiPINEB 2017)", "section II"),
)
def dragonfly_plus(
    leaves: Annotated[int, Spec("leaf switches of a group", at_least=1)] = 2,
    *,
    spines: Annotated[int, Spec("spine switches of a group", at_least=1)] = 2,
    hosts: Annotated[int, Spec("NPUs behind each leaf switch", at_least=1)] = 2,
    global_links: Annotated[int, Spec("global links of a spine switch", at_least=1)] = 2,
    groups: Groups = 0,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
    global_delay_ns: GlobalDelay = 50,
) -> Fabric:
    """Build a Dragonfly+; two groups have several global links if the links could join more groups."""
    import networkx as nx

    number = number_of_groups(groups, spines * global_links, "dragonfly-plus", f"{spines} spines")
    graph = nx.MultiGraph()
    for group in range(number):
        upper = [f"g{group}s{spine}" for spine in range(spines)]
        graph.add_nodes_from(upper, kind="switch", tier=2, group=f"group {group}")
        for leaf in range(leaves):
            name = f"g{group}l{leaf}"
            graph.add_node(name, kind="switch", tier=1, group=f"group {group}")
            graph.add_edges_from((name, f"{name}.{host}") for host in range(hosts))
            graph.add_edges_from((name, spine) for spine in upper)
    join_groups(graph, number, [f"s{spine}" for spine in range(spines)], global_links, global_delay_ns)
    return from_graph(graph, "dragonfly-plus", rate_gbps=rate_gbps, delay_ns=delay_ns)
