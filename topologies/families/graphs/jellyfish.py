# SPDX-License-Identifier: Apache-2.0
"""Jellyfish (Singla, Hong, Popa, Godfrey, NSDI 2012): a random regular graph of switches."""

from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Hosts, Rate, with_hosts
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["jellyfish"]

# Largest number of random graphs to draw until one is connected.
_DRAWS = 50


@family(
    "Jellyfish: switches in a random regular graph, drawn by seed",
    source=Source("Jellyfish: Networking Data Centers Randomly (NSDI 2012)", "section 3"),
)
def jellyfish(
    switches: Annotated[int, Spec("switches", at_least=4, at_most=1024)] = 20,
    *,
    degree: Annotated[int, Spec("links of a switch to other switches", at_least=2)] = 4,
    hosts: Hosts = 2,
    seed: Annotated[int, Spec("seed of the drawing", at_least=0)] = 1,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
) -> Fabric:
    """Build the first connected graph of up to `_DRAWS` draws; `seed` determines the draws."""
    import networkx as nx

    if degree >= switches or switches * degree % 2:
        raise TopologyError(
            f"jellyfish: {switches} switches cannot all have degree {degree}",
            remedy="give a degree below the number of switches, and an even product of the two",
        )
    for draw in range(_DRAWS):
        graph = nx.random_regular_graph(degree, switches, seed=seed * _DRAWS + draw)
        if nx.is_connected(graph):
            # Sort nodes and edges, so that their order does not depend on networkx.
            named = nx.Graph()
            named.add_nodes_from(f"s{number}" for number in range(switches))
            named.add_edges_from((f"s{a}", f"s{b}") for a, b in sorted(map(sorted, graph.edges)))
            return from_graph(
                with_hosts(named, hosts), f"jellyfish-{switches}", rate_gbps=rate_gbps, delay_ns=delay_ns
            )
    raise TopologyError(
        f"jellyfish: {_DRAWS} draws gave no connected graph of {switches} switches of degree {degree}",
        remedy="give a higher degree or another seed",
    )
