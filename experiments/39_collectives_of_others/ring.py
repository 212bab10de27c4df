# SPDX-License-Identifier: Apache-2.0
"""The ring of astra-sim's example networks: 50 GB/s each way, a GB being 2^30 bytes, and 500 ns a link."""

import networkx as nx

RATE_GBPS = 50 * 2**30 * 8 / 10**9


def ring(npus: int) -> nx.Graph:
    """Return a ring of `npus` nodes, npu0 to npu(n - 1)."""
    graph = nx.Graph(name=f"ring-{npus}")
    nx.add_cycle(graph, [f"npu{number}" for number in range(npus)], rate_gbps=RATE_GBPS, delay_ns=500)
    return graph
