# SPDX-License-Identifier: Apache-2.0
"""Slim Fly (Besta, Hoefler, SC 2014): McKay-Miller-Siran graphs of diameter 2, for a prime q."""

from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Hosts, Rate, with_hosts
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["slim_fly"]


@family(
    "Slim Fly: 2 q^2 routers of diameter 2, for a prime q",
    source=Source("Slim Fly: A Cost Effective Low-Diameter Network Topology (SC 2014)", "section 2"),
)
def slim_fly(
    q: Annotated[int, Spec("a prime of the form 4 w + 1 or 4 w - 1", at_least=5, at_most=61)] = 5,
    *,
    hosts: Hosts = 1,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
) -> Fabric:
    """Build routers (s, x, y) with s 0 or 1, and x and y modulo q.

    Links join:

    - (0, x, y) and (0, x, y') if y - y' is in the first generator set;
    - (1, m, c) and (1, m, c') if c - c' is in the second generator set;
    - (0, x, y) and (1, m, c) if y = m x + c.
    """
    import networkx as nx

    if any(q % factor == 0 for factor in range(2, int(q**0.5) + 1)):
        raise TopologyError(
            f"slim-fly: q is {q}, for which there is no Slim Fly",
            remedy="give a prime, such as 5, 7, 11, 13 or 17",
        )
    generators = _generators(q)
    graph = nx.Graph()
    graph.add_nodes_from(f"r{s}.{x}.{y}" for s in (0, 1) for x in range(q) for y in range(q))
    for x in range(q):
        for y in range(q):
            for s in (0, 1):
                graph.add_edges_from(
                    (f"r{s}.{x}.{y}", f"r{s}.{x}.{(y + step) % q}") for step in generators[s]
                )
            for m in range(q):
                graph.add_edge(f"r0.{x}.{y}", f"r1.{m}.{(y - m * x) % q}")
    return from_graph(with_hosts(graph, hosts), f"slim-fly-{q}", rate_gbps=rate_gbps, delay_ns=delay_ns)


def _generators(q: int) -> tuple[list[int], list[int]]:
    """Return the two generator sets of powers of a primitive element; each set is closed under negation."""
    root = next(r for r in range(2, q) if len({pow(r, power, q) for power in range(q - 1)}) == q - 1)
    if q % 4 == 1:
        even = range(0, q - 1, 2)
        return [pow(root, power, q) for power in even], [pow(root, power + 1, q) for power in even]
    w = (q + 1) // 4
    low, high = range(0, 2 * w - 1, 2), range(2 * w - 1, 4 * w - 2, 2)
    first = [pow(root, power, q) for power in (*low, *high)]
    odd_low, odd_high = range(1, 2 * w, 2), range(2 * w, 4 * w - 1, 2)
    return first, [pow(root, power, q) for power in (*odd_low, *odd_high)]
