# SPDX-License-Identifier: Apache-2.0
"""Servers as SimAI's analytical network assumes them: an NVSwitch each, and a NIC for every GPU on its rail.

Rates are bytes a second each way with a GB of 2^30 bytes, as in SimAI. Its analytical network has no delays;
links here have 1 ns. A spine joins the rails without a bottleneck.
"""

import networkx as nx

GPUS = 8
NVLINK_GB = 360.0
NIC_GB = 48.5
DELAY_NS = 1


def _gbps(rate_gb: float) -> float:
    return rate_gb * 2**30 * 8 / 10**9


def servers(count: int) -> nx.Graph:
    """Return `count` servers of eight GPUs, npu0 to npu(8 * count - 1); a server alone has no rails."""
    graph = nx.Graph(name=f"servers-{count}")
    for server in range(count):
        graph.add_node(f"nv{server}", kind="switch")
        for gpu in range(GPUS):
            npu = f"npu{server * GPUS + gpu}"
            graph.add_node(npu, kind="npu")
            graph.add_edge(npu, f"nv{server}", rate_gbps=_gbps(NVLINK_GB), delay_ns=DELAY_NS)
    for rail in range(GPUS if count > 1 else 0):
        graph.add_node(f"rail{rail}", kind="switch")
        graph.add_node("spine", kind="switch")
        graph.add_edge(f"rail{rail}", "spine", rate_gbps=count * _gbps(NIC_GB), delay_ns=DELAY_NS)
        for server in range(count):
            npu = f"npu{server * GPUS + rail}"
            graph.add_edge(npu, f"rail{rail}", rate_gbps=_gbps(NIC_GB), delay_ns=DELAY_NS)
    return graph
