# SPDX-License-Identifier: Apache-2.0
"""What no run of a collective can beat on the links of a fabric."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from emulation.traffic import collectives as c
from lab.run.collective import schedule_of
from lab.run.grids import dimension_rates, grid_of, groups_of, out_bps, pair_rates
from lab.scenario.schema import ELEMENT_BYTES, Collective
from topologies import Fabric

__all__ = ["bound_ps"]


def bound_ps(fabric: Fabric, members: Sequence[str], collective: Collective, strategy: str) -> int:
    """What the collective cannot beat on these links, in ps; under `shortest`, what its own sends cannot.

    Sends that keep to the direct links of their pairs are bound by the busiest of these; others only by what
    must leave a member, or all of equal place in a dimension, or cross the middle of one.
    """
    if collective.algorithm == "ring" and strategy == "shortest":
        rate = min(link.rate_bps for link in fabric.links)
        return round(c.ring_bound_ps(len(members), collective.data_bytes, rate))
    least = _bound(fabric, members, collective)
    if strategy == "shortest" and collective.algorithm != "bidirectional-dimension-order":
        schedule = schedule_of(fabric, members, collective, detours=False)
        least = max(least, c.busiest_pair_ps(schedule, pair_rates(fabric, members), ELEMENT_BYTES))
    return max(1, round(least))


def _bound(fabric: Fabric, members: Sequence[str], collective: Collective) -> float:
    ranks, data = len(members), collective.data_bytes
    ports = [_port_bps(fabric, name) for name in members]
    average = ports[0] if min(ports) == max(ports) else mean(ports)
    match collective.kind:
        case "allreduce":
            groups = (c.allreduce_ports_bound_ps(n, data, rate) for n, rate in _groups(fabric, members))
            return max(c.allreduce_ports_bound_ps(ranks, data, average), *groups)
        case "reduce-scatter" | "all-gather":
            groups = (c.gather_bound_ps(n, data, rate) for n, rate in _groups(fabric, members))
            return max(c.gather_bound_ps(ranks, data, average), *groups)
        case "all-to-all":
            # Of a group's data, what is for others leaves it.
            groups = (c.gather_bound_ps(n, data * ranks / n, rate) for n, rate in _groups(fabric, members))
            leave = max(c.gather_bound_ps(ranks, data, average), *groups)
            if any(link.dimension is None for link in fabric.links) or ranks < len(fabric.nodes):
                return leave  # other ways than along the dimensions
            grid = grid_of(fabric, members)
            rates = dimension_rates(fabric, members, range(len(grid)), grid)
            return max(leave, c.all_to_all_bound_ps(grid, data // ranks, rates))
        case "broadcast" | "reduce":
            return c.send_bound_ps(data, ports[collective.root])
        case "p2p":
            return c.send_bound_ps(data, max(ports))
        case _:
            return c.traffic_bound_ps(schedule_of(fabric, members, collective), sum(ports), ELEMENT_BYTES)


def _groups(fabric: Fabric, members: Sequence[str]) -> list[tuple[int, float]]:
    """How many groups of equal place there are in a dimension, and what leads out of one on average.

    Only where groups are equal: the bounds count each as one member.
    """
    found = []
    for groups in groups_of(fabric, members):
        if len({len(group) for group in groups}) == 1:
            found.append((len(groups), mean(out_bps(fabric, group) for group in groups)))
    return found


def _port_bps(fabric: Fabric, name: str) -> int:
    """What all links of a member carry, each way."""
    ports = fabric.node(name).ports
    return sum(link.rate_bps for port in ports if (link := fabric.link_at(name, port.number)))
