# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of a collective's time in picoseconds, without headers, propagation and waiting.

They are derived here by counting the data that must leave or reach an NPU or cross a cut; UB-Mesh gives none.
D is the size of an NPU's array, B the rate of a link in each direction, N or n the number of NPUs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from emulation.traffic.schedule.schedule import Schedule

__all__ = [
    "all_to_all_bound_ps",
    "allreduce_bound_ps",
    "allreduce_ports_bound_ps",
    "busiest_pair_ps",
    "gather_bound_ps",
    "ring_bound_ps",
    "send_bound_ps",
    "traffic_bound_ps",
]

_PS_PER_SECOND = 1_000_000_000_000


def allreduce_bound_ps(dims: Sequence[int], data_bytes: int, rate_bps: int) -> float:
    """Return the least time in ps of an AllReduce of D = `data_bytes` over a full mesh.

    Each link has the rate B = `rate_bps` in each direction. The links of a node carry 2 (n - 1)/n D: for
    8 x 8, 2 (63/64) D/(14 B) = 0.140625 D/B; for 8, D/(4 B).
    Derived from UB-Mesh's full meshes; the paper does not state it.
    """
    return allreduce_ports_bound_ps(prod(dims), data_bytes, sum(size - 1 for size in dims) * rate_bps)


def allreduce_ports_bound_ps(ranks: int, data_bytes: float, node_bps: float) -> float:
    """Return the least time in ps of an AllReduce of D = `data_bytes` among n NPUs sending `node_bps` each.

    Together they send at least 2 (n - 1) D.
    """
    return 2 * (ranks - 1) / ranks * data_bytes * 8 / node_bps * _PS_PER_SECOND


def ring_bound_ps(ranks: int, data_bytes: int, rate_bps: int) -> float:
    """Return the least time in ps of an AllReduce of D = `data_bytes` along a directed ring of n ranks.

    Each rank sends 2 (n - 1)/n D over its only link, of rate `rate_bps`.
    """
    return 2 * (ranks - 1) / ranks * data_bytes * 8 / rate_bps * _PS_PER_SECOND


def gather_bound_ps(ranks: int, data_bytes: float, node_bps: float) -> float:
    """Return the least time in ps of an all-gather or a reduce-scatter of arrays of D = `data_bytes`.

    (n - 1)/n D must reach a rank, or leave it, over links that carry `node_bps` together.
    """
    return allreduce_ports_bound_ps(ranks, data_bytes, node_bps) / 2


def all_to_all_bound_ps(dims: Sequence[int], block_bytes: int, rates_bps: Sequence[float]) -> float:
    """Return the least time in ps of an all-to-all over a full mesh; m = `block_bytes` go from rank to rank.

    `rates_bps` has the rate of a link by dimension. With N ranks, a dimension of k coordinates and links of
    rate B needs (N/k) m / B; the slowest dimension gives the result, such as 8 m/B for 8 x 8. A cut across a
    dimension has a coordinates on one side: a (N/k) times (k - a)(N/k) blocks must cross a (k - a)(N/k)
    links, so each link carries N/k blocks on average, on whatever paths.
    """
    ranks = prod(dims)
    each = [
        ranks // size * block_bytes * 8 / rate for size, rate in zip(dims, rates_bps, strict=True) if size > 1
    ]
    return max(each, default=0.0) * _PS_PER_SECOND


def send_bound_ps(data_bytes: int, node_bps: float) -> float:
    """Return the least time in ps for `data_bytes` to leave or reach a rank, as in a broadcast or reduce.

    All links of the rank together carry `node_bps`.
    """
    return data_bytes * 8 / node_bps * _PS_PER_SECOND


def traffic_bound_ps(schedule: Schedule, all_bps: float, element_bytes: int = 4) -> float:
    """Return the least time in ps of a schedule's sends, each of which crosses at least one link.

    All links of all NPUs together carry `all_bps`.
    """
    amount = sum(transfer.length for transfer in schedule.transfers) * element_bytes
    return send_bound_ps(amount, all_bps)


def busiest_pair_ps(
    schedule: Schedule, rates_bps: Mapping[tuple[int, int], float], element_bytes: int = 4
) -> float:
    """Return the time in ps of a schedule's busiest link if every send takes the direct link to its target.

    `rates_bps` has the rate of each direct link by (source, target) rank; sends between ranks without a
    direct link are left out. Shortest-path routing uses direct links.
    """
    load: dict[tuple[int, int], int] = defaultdict(int)
    for transfer in schedule.transfers:
        load[transfer.source, transfer.target] += transfer.length * element_bytes
    each = [8 * amount / rates_bps[pair] for pair, amount in load.items() if pair in rates_bps]
    return max(each, default=0.0) * _PS_PER_SECOND
