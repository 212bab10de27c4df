# SPDX-License-Identifier: Apache-2.0
"""Paths and connections by pair of ranks, as sources know them.

A connection is a value of the header field lb, which decides its path (HPN, path selection):

    search      values whose paths share no link between switches, computed from the hash; each source and
                destination try the values in a random order of their own
    random      random values, as hosts use that do not know the hash
    five-tuple  one random value for each port of the source, as a flow has one hash

All three use the ports of a NIC in turn, so their paths differ only behind the ports.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, pairwise, zip_longest
from random import Random

import numpy as np

from controller.path_probing import LB_VALUES, PathProbe
from controller.plan.entry import Path
from controller.plan.plan import Plan
from controller.plan.routes import numbered_by_first_use
from controller.schemes.registry import Routing, scheme_class, strategy_of
from emulation.traffic.frames.wire import ACK_BYTES, DATA_HEADER_BYTES
from emulation.traffic.host.path_choice import Connections, PathShares, PathTiming
from emulation.traffic.schedule.schedule import Schedule
from harness.scenario.schema import ConnectionSettings
from topologies import Fabric

__all__ = ["connections_of", "path_shares", "sources_know_paths", "timing_of"]

# Time in ps of a byte at 1 bit/s.
_BYTE_PS = 8 * 10**12


def sources_know_paths(fabric: Fabric, routing: Routing) -> bool:
    """Return whether source routes decide every hop of a frame; each bucket then has one path."""
    return not routing.strategy.by_hash and routing.scheme.steers_every_hop(fabric)


def path_shares(plan: Plan, members: Sequence[str]) -> dict[tuple[int, int], PathShares] | None:
    """Return the paths of all pairs of ranks, if source routes decide every hop of a frame.

    Return None if switches choose ports by lb or hash, because frames of a bucket then take several paths.
    For an adaptive strategy, the paths have timings as well.
    """
    strategy = strategy_of(plan)
    if not sources_know_paths(plan.fabric, Routing(scheme_class(plan.fabric, plan.scheme), strategy)):
        return None
    routes, weights = plan.route_columns, plan.weight_columns
    pairs = routes.paths.pairs
    rank_of = np.full(len(plan.fabric.nodes), -1)
    rank_of[[plan.fabric.node(name).index for name in members]] = np.arange(len(members))
    sources, targets = rank_of[pairs.sources], rank_of[pairs.destinations]
    wanted = np.flatnonzero((sources >= 0) & (targets >= 0))
    ranks = zip(sources[wanted].tolist(), targets[wanted].tolist(), strict=True)
    patterns = numbered_by_first_use(routes.buckets[wanted])
    # Most pairs have equal paths and weights, and share an object.
    known: dict[Hashable, PathShares] = {}
    shares: dict[tuple[int, int], PathShares] = {}
    rows = zip(ranks, wanted.tolist(), patterns, weights.numbers[wanted].tolist(), strict=True)
    for pair, number, pattern, weight in rows:
        timings = _timings(plan.fabric, routes.of_number(number)) if strategy.adaptive else ()
        key = pattern.tobytes(), weight, timings
        if key not in known:
            own = weights.patterns[weight] if weight >= 0 else None
            known[key] = PathShares(tuple(pattern.tolist()), own, timings)
        shares[pair] = known[key]
    return shares


def _timings(fabric: Fabric, paths: Sequence[Path]) -> tuple[PathTiming, ...]:
    return tuple(timing_of(fabric, path) for path in dict.fromkeys(paths))


def timing_of(fabric: Fabric, path: Path) -> PathTiming:
    """Return the timing of a path between NPUs, from the rates and delays of its links and host links."""
    host_bps = fabric.host_lanes * fabric.lane_rate_bps
    links = [fabric.link_between(*hop) for hop in pairwise(path)]
    rates = [host_bps, *(link.rate_bps for link in links), host_bps]
    headers = sum((DATA_HEADER_BYTES + ACK_BYTES) * _BYTE_PS // rate for rate in rates)
    delays = 2 * fabric.host_delay_ps + sum(link.delay_ps for link in links)
    times = [1024 * _BYTE_PS // rate for rate in rates]
    return PathTiming(headers + 2 * delays, sum(times), max(times))


def connections_of(
    plan: Plan, schedule: Schedule, members: Sequence[str], wanted: ConnectionSettings, seed: int
) -> Connections:
    """Return the connections of all sending pairs of ranks in a schedule.

    Args:
        plan: Plan whose tables and hashes decide the paths.
        schedule: Schedule whose rank r is `members[r]`.
        members: Names of the nodes by rank.
        wanted: Number and kind of connections.
        seed: Seed of the random values of lb.

    Raises:
        PlanError: The paths between two members cannot be computed.
    """
    search = PathProbe(plan)
    pairs = {(transfer.source, transfer.target) for transfer in schedule.transfers}
    lbs = {pair: _values(search, members[pair[0]], members[pair[1]], wanted, seed) for pair in sorted(pairs)}
    return Connections(lbs, wanted.choose, seed)


def _values(
    search: PathProbe, source: str, target: str, wanted: ConnectionSettings, seed: int
) -> tuple[int, ...]:
    # The names seed the draw, because pairs of different jobs can have equal ranks.
    draw = Random(f"{seed} {source} {target}")
    if wanted.paths == "search":
        order = draw.sample(range(LB_VALUES), LB_VALUES)
        return tuple(path.lb for path in search.disjoint_paths(source, target, wanted.most, order))
    ports = search.lbs_by_port(source, target)
    if wanted.paths == "five-tuple":
        return tuple(draw.choice(values) for values in ports)
    drawn = [draw.sample(values, min(wanted.most, len(values))) for values in ports]
    in_turn = chain.from_iterable(zip_longest(*drawn))
    return tuple(lb for lb in in_turn if lb is not None)[: wanted.most]
