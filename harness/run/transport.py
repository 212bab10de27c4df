# SPDX-License-Identifier: Apache-2.0
"""Transport of a variant: windows, timeouts, and the path facts that congestion control starts from."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from controller.plan.path_columns import PairColumns
from controller.plan.plan import Plan
from controller.schemes.registry import Routing
from controller.tables.groups import lb_selects_path
from emulation.traffic.frames.wire import ACK_BYTES, DATA_HEADER_BYTES, SRH_BYTES
from emulation.traffic.host.congestion import CongestionChoice, PathFacts, congestion_choice
from emulation.traffic.host.path_choice import SprayChoice
from emulation.traffic.host.transport import MAX_PATH_WINDOW, TransportParameters
from harness.errors import ScenarioError
from harness.run.collectives.connections import sources_know_paths
from harness.run.planning.job_plan import JobPlan, demand_of
from harness.scenario.schema import Variant
from topologies import Fabric
from topologies.model.columns import columns

__all__ = ["path_facts", "queueing_ps", "transport_for", "with_queueing"]

# Ratio of two waits up to which measured round trips allow for both: timeouts of sources that know their
# paths begin this many times above the longest round trip.
_UNEVEN = 1.5


def transport_for(
    fabric: Fabric, variant: Variant, routing: Routing, jobs: Sequence[JobPlan], seed: int
) -> TransportParameters:
    """Return the transport parameters of a variant with its `routing`; `seed` seeds the choices of spraying.

    Raises:
        ScenarioError: The queues lose frames, and a memory pool or trees need all frames; or the variant has
            connections with a path each, and its strategy sprays.
        EmulationError: The congestion control has invalid parameters.
    """
    if variant.link.lossy and (variant.pool is not None or any(job.trees is not None for job in jobs)):
        raise ScenarioError(
            "the variant has `queues:`, which lose frames, beside a memory pool or a collective in switches, "
            "which need all frames",
            remedy="leave out `queues:`",
        )
    chosen, strategy = variant.transport, routing.strategy
    if chosen.window > MAX_PATH_WINDOW and chosen.connections is None and sources_know_paths(fabric, routing):
        raise ScenarioError(
            f"`transport.window` is {chosen.window}, but sources know their paths, so a window has at "
            f"most {MAX_PATH_WINDOW} frames",
            remedy=f"give up to {MAX_PATH_WINDOW}, or take a fabric whose switches choose the paths",
        )
    if strategy.spray and chosen.connections is not None:
        raise ScenarioError(
            f"the strategy {strategy.name} chooses a path for each frame, but `connections:` fix their paths",
            remedy="leave out `connections:`, or use strategy hashed",
        )
    back = chosen.recovery == "go-back-n"
    if back and (strategy.spray or strategy.adaptive):
        raise ScenarioError(
            f"the strategy {strategy.name} sends frames of a connection by several paths, but `recovery: "
            "go-back-n` needs them in order",
            remedy="take strategy shortest or hashed",
        )
    if back and variant.link.trims:
        raise ScenarioError(
            "the variant has `recovery: go-back-n` beside `trim: true`, where frames go again one by one",
            remedy="leave out one of them",
        )
    defaults = TransportParameters()
    least = None if chosen.min_rto_us is None else round(chosen.min_rto_us * 10**6)
    # Sprayed frames need a hash where the bits of the header field lb are too few to select the next hop of
    # every tier.
    hashed = strategy.spray and strategy.by_hash and not lb_selects_path(fabric, variant.control.hash)
    return TransportParameters(
        window=chosen.window,
        ack_every=min(chosen.ack_every, chosen.window),
        initial_rto_ps=round(chosen.initial_rto_us * 10**6),
        min_rto_ps=least or defaults.min_rto_ps,
        path_rto_ps=least or defaults.path_rto_ps,
        lb_mode=0 if back or chosen.connections is not None or hashed else 1,
        adaptive=strategy.adaptive,
        marks=variant.link.marks,
        congestion=_congestion(fabric, variant, jobs),
        lossy=variant.link.lossy,
        go_back=back,
        spray=SprayChoice(strategy.spray, chosen.entropies, seed) if strategy.spray else None,
    )


def with_queueing(
    transport: TransportParameters, variant: Variant, plan: Plan, jobs: Sequence[JobPlan]
) -> TransportParameters:
    """Return the parameters with timeouts that cover the wait of full windows for slow links of switches.

    Round trips to peers behind fast links end first, and are too short a timeout for peers whose frames wait
    for a spine. An `initial_rto_us` of the scenario stays; all timeouts stay if the scenario sets
    `min_rto_us`, or if queues lose frames.
    """
    if variant.transport.min_rto_us is not None or variant.link.lossy:
        return transport
    wait = queueing_ps(plan, jobs, transport.window)
    if not wait:
        return transport
    members = dict.fromkeys(name for job in jobs for name in job.members)
    wait += transport.ack_delay_ps + path_facts(plan.fabric, members, _frame_bytes(jobs)).base_rtt_ps
    initial = transport.initial_rto_ps
    if "initial_rto_us" in variant.transport.model_fields_set:
        wait = min(wait, initial)
    return replace(
        transport,
        initial_rto_ps=max(initial, wait),
        min_rto_ps=max(transport.min_rto_ps, wait),
        path_rto_ps=max(transport.path_rto_ps, wait),
    )


def queueing_ps(plan: Plan, jobs: Sequence[JobPlan], window: int) -> int:
    """Return the longest time in ps that a link of a switch takes for full windows of all its pairs.

    0 if all windows wait about as long: then no switch is oversubscribed, and no endpoint has a fast link to
    one switch and a slow link to another.
    """
    routes, table = plan.route_columns, columns(plan.fabric)
    switch = np.array([node.is_switch for node in plan.fabric.nodes])
    demand = demand_of(jobs)
    if not demand or not switch.any():
        return 0
    sent = PairColumns.of(plan.fabric, demand)
    numbers, volumes = routes.paths.pairs.numbers(sent), np.array([demand[pair] for pair in sent.names()])
    payload = max(job.collective.payload_bytes for job in jobs)
    frames = np.minimum(window, -(-volumes[numbers >= 0] // payload))
    numbers = numbers[numbers >= 0]
    flying = frames[:, None] * plan.bucket_weights()[numbers] * _frame_bytes(jobs)
    by_path = np.bincount(routes.buckets[numbers].ravel(), flying.ravel(), len(routes.paths.nodes))
    used = np.flatnonzero(by_path)
    hops = routes.paths.hops[used]
    by_hop = np.repeat(by_path[used], (hops >= 0).sum(axis=1))
    waiting = np.bincount(hops[hops >= 0], by_hop, len(table.rates))
    rates = np.bincount(table.representative, table.rates, len(table.rates))
    waits = 8e12 * waiting / np.maximum(rates, 1)  # by hop; parallel links count as their first hop
    between = waits[switch[table.tails] & switch[table.heads]].max(initial=0.0)
    leaving = ~switch[table.tails] & switch[table.heads] & (waits > 0)
    slow, fast = np.zeros(len(switch)), np.full(len(switch), np.inf)
    np.maximum.at(slow, table.tails[leaving], waits[leaving])
    np.minimum.at(fast, table.tails[leaving], waits[leaving])
    ends = max(slow.max(), waits[switch[table.tails] & ~switch[table.heads]].max(initial=0.0))
    if between > _UNEVEN * ends or (slow > _UNEVEN * fast).any():
        return round(float(max(between, ends)))
    return 0


def _congestion(fabric: Fabric, variant: Variant, jobs: Sequence[JobPlan]) -> CongestionChoice | None:
    """Return the congestion control of a variant; None for a fixed window on lossless links."""
    chosen = variant.transport.congestion
    if chosen is None and not variant.link.lossy and variant.transport.recovery == "selective":
        return None
    members = dict.fromkeys(name for job in jobs for name in job.members)
    facts = path_facts(fabric, members, _frame_bytes(jobs), trims=variant.link.trims)
    if chosen is None:
        return congestion_choice("fixed", {}, facts)
    if chosen.base_rtt_us is not None:
        facts = replace(facts, base_rtt_ps=round(chosen.base_rtt_us * 10**6))
    if chosen.rate_gbps is not None:
        facts = replace(facts, rate_bps=round(chosen.rate_gbps * 10**9))
    return congestion_choice(chosen.algorithm, chosen.params, facts)


def _frame_bytes(jobs: Sequence[JobPlan]) -> int:
    """Return the size of the largest data frame of the jobs."""
    payload = max((job.collective.payload_bytes for job in jobs), default=4096)
    return payload + DATA_HEADER_BYTES + SRH_BYTES


def path_facts(fabric: Fabric, members: Iterable[str], frame_bytes: int, *, trims: bool = False) -> PathFacts:
    """Return the facts of a path for congestion control: base round-trip time and rate.

    The path joins the first member and the member with the longest round trip from it. A frame of
    `frame_bytes` takes the path of least delay, finds all queues empty, and is acknowledged at once. The rate
    is that of the path's slowest link. If switches join all members, paths go through switches only.
    """
    first, *others = members
    by_switches = _paths(fabric, first, frame_bytes, through_hosts=False)
    joined = all(name in by_switches for name in others)
    nearest = by_switches if joined else _paths(fabric, first, frame_bytes, through_hosts=True)
    trip, rate = max((nearest[name] for name in others if name in nearest), default=nearest[first])
    return PathFacts(trip, rate, frame_bytes, trims, _receive_bps(fabric, first))


def _receive_bps(fabric: Fabric, name: str) -> int:
    """Return the receive rate of a node in bit/s over all its links; for a GPU, over links to switches."""
    links = [link for link in fabric.links if name in (link.a.node, link.b.node)]
    if fabric.node(name).kind.in_domain:
        links = [link for link in links if fabric.node(link.far(name).node).is_switch] or links
    return min(sum(link.rate_bps for link in links), fabric.host_lanes * fabric.lane_rate_bps)


def _paths(
    fabric: Fabric, first: str, frame_bytes: int, *, through_hosts: bool
) -> dict[str, tuple[int, int]]:
    """Return the shortest round trip in ps from `first` to each node, and the rate of its slowest link."""
    host_rate = fabric.host_lanes * fabric.lane_rate_bps
    host = _trip_ps(fabric.host_delay_ps, host_rate, frame_bytes)
    neighbours: dict[str, list[tuple[str, int, int]]] = {node.name: [] for node in fabric.nodes}
    for link in fabric.links:
        trip = _trip_ps(link.delay_ps, link.rate_bps, frame_bytes)
        neighbours[link.a.node].append((link.b.node, trip, link.rate_bps))
        neighbours[link.b.node].append((link.a.node, trip, link.rate_bps))
    forwards = {node.name for node in fabric.nodes if node.is_switch or through_hosts} | {first}
    nearest: dict[str, tuple[int, int]] = {}
    ahead = [(2 * host, first, host_rate)]
    while ahead:
        trip, node, rate = heappop(ahead)
        if node in nearest:
            continue
        nearest[node] = trip, rate
        for other, more, narrow in neighbours[node] if node in forwards else ():
            if other not in nearest:
                heappush(ahead, (trip + more, other, min(rate, narrow)))
    return nearest


def _trip_ps(delay_ps: int, rate_bps: int, frame_bytes: int) -> int:
    """Return the time in ps of a frame on a link and of its acknowledgement back, without queues."""
    return 2 * delay_ps + (frame_bytes + ACK_BYTES) * 8 * 10**12 // rate_bps
