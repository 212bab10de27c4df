# SPDX-License-Identifier: Apache-2.0
"""Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of routers, all joined by global links."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Hosts, Rate, with_hosts
from topologies.model import Fabric
from topologies.model.graphs import from_graph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["GlobalDelay", "Groups", "dragonfly", "join_groups", "number_of_groups"]

Groups = Annotated[int, Spec("groups; 0: as many as global links can join", at_least=0)]
GlobalDelay = Annotated[float, Spec("propagation delay of a global link", at_least=0)]


@family(
    "Dragonfly: groups of routers that are all neighbours, global links between all groups",
    source=Source("Technology-Driven, Highly-Scalable Dragonfly Topology (ISCA 2008)", "section 3"),
)
def dragonfly(
    routers: Annotated[int, Spec("routers of a group, a in the paper", at_least=1)] = 4,
    *,
    hosts: Hosts = 2,
    global_links: Annotated[int, Spec("global links of a router, h in the paper", at_least=1)] = 2,
    groups: Groups = 0,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
    global_delay_ns: GlobalDelay = 50,
) -> Fabric:
    """Build a Dragonfly of a h + 1 groups by default; with fewer groups, several links join two groups."""
    import networkx as nx

    number = number_of_groups(groups, routers * global_links, "dragonfly", f"{routers} routers")
    graph = nx.MultiGraph()
    for group in range(number):
        names = [f"g{group}r{router}" for router in range(routers)]
        graph.add_nodes_from(names, group=f"group {group}")
        graph.add_edges_from((a, b) for at, a in enumerate(names) for b in names[at + 1 :])
    join_groups(graph, number, [f"r{router}" for router in range(routers)], global_links, global_delay_ns)
    return from_graph(with_hosts(graph, hosts), "dragonfly", rate_gbps=rate_gbps, delay_ns=delay_ns)


def number_of_groups(groups: int, ends: int, family: str, switches: str) -> int:
    """Return the number of groups: `groups`, or the largest number that global links can join for 0.

    `ends` is the number of global links of a group. TopologyError, with names `family` and `switches`, when
    the global links cannot join the groups.
    """
    number = groups or ends + 1
    if not 2 <= number <= ends + 1:
        raise TopologyError(
            f"{family}: cannot join {number} groups; {switches} of a group with {ends} global links in all "
            f"join up to {ends + 1}",
            remedy=f"give 2 to {ends + 1} groups",
        )
    return number


def join_groups(
    graph: "nx.MultiGraph", groups: int, switches: Sequence[str], links: int, delay_ns: float
) -> None:
    """Add the global links: `links` of them for each switch. The name of switch S of group G is gGS."""
    for (group, end), (other, back) in _global_pairs(groups, len(switches) * links):
        a, b = f"g{group}{switches[end // links]}", f"g{other}{switches[back // links]}"
        graph.add_edge(a, b, delay_ns=float(delay_ns))


def _global_pairs(groups: int, ends: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield both (group, global end) of each global link; a group has `ends` global ends.

    End e of a group leads to the group e % (groups - 1) + 1 after it. Ends beyond a multiple of groups - 1
    have no link, so that all other ends pair up.
    """
    for end in range(ends - ends % (groups - 1)):
        step, turn = end % (groups - 1) + 1, end // (groups - 1)
        back = turn * (groups - 1) + (groups - step) - 1
        for group in range(groups):
            other = (group + step) % groups
            if group < other:
                yield (group, end), (other, back)
