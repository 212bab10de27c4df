# SPDX-License-Identifier: Apache-2.0
"""BCube (Guo et al., SIGCOMM 2009): servers that relay frames, with a port to a switch of every level."""

from itertools import product
from typing import Annotated

from topologies.families.declaration import Source, Spec, family
from topologies.families.graphs.parameters import DELAY_NS, RATE_GBPS, Delay, Rate
from topologies.model import Fabric
from topologies.model.graphs import from_graph

__all__ = ["bcube"]


@family(
    "BCube: NPUs that relay, each on one switch of every level",
    source=Source(
        "BCube: A High Performance, Server-centric Network Architecture (SIGCOMM 2009)", "section 3"
    ),
)
def bcube(
    ports: Annotated[int, Spec("ports of a switch, n in the paper", at_least=2, at_most=64)] = 4,
    *,
    levels: Annotated[int, Spec("ports of an NPU, k + 1 in the paper", at_least=1, at_most=4)] = 2,
    rate_gbps: Rate = RATE_GBPS,
    delay_ns: Delay = DELAY_NS,
) -> Fabric:
    """Build n^(k+1) NPUs and n^k switches in each level; level l joins NPUs that differ in digit l alone."""
    import networkx as nx

    graph = nx.Graph()
    npus = list(product(range(ports), repeat=levels))
    for number, digits in enumerate(npus):
        row, column = divmod(number, ports)
        graph.add_node("npu" + ".".join(map(str, digits)), x=float(column), y=float(row))
    for level in range(levels):
        joined = dict.fromkeys(_rest(digits, level) for digits in npus)
        for number, rest in enumerate(joined):
            # Switches of level 0 are drawn beside the rows of their NPUs, other switches above all NPUs.
            pitch = max(0.6, ports / len(joined))
            x, y = (ports - 1) / 2 + pitch * (number - (len(joined) - 1) / 2), -1.5 * level
            x, y = (-1.5, float(number)) if level == 0 else (x, y)
            graph.add_node(".".join(map(str, (f"sw{level}", *rest))), kind="switch", tier=1, x=x, y=y)
        for digits in npus:
            switch = ".".join(map(str, (f"sw{level}", *_rest(digits, level))))
            graph.add_edge("npu" + ".".join(map(str, digits)), switch)
    return from_graph(graph, f"bcube-{ports}-{levels}", rate_gbps=rate_gbps, delay_ns=delay_ns)


def _rest(digits: tuple[int, ...], level: int) -> tuple[int, ...]:
    """Return the digits of an NPU without the digit of a level; digit 0 is the last."""
    return (*digits[: len(digits) - 1 - level], *digits[len(digits) - level :])
