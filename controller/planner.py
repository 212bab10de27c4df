# SPDX-License-Identifier: Apache-2.0
"""The plan of a fabric: routes, entries of every node, and the nodes to notify when a link fails."""

from collections.abc import Iterable, Mapping, Set
from itertools import permutations

import numpy as np

from controller.deadlock import dependency_graph as deadlock
from controller.deadlock.node_turns import permits_no_cycle
from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.forwarding.next_hop import table_path
from controller.garbage import garbage_collection_paused
from controller.paths.finder import PathFinder
from controller.paths.shares.weights import Demand, check_demand
from controller.plan.entry import Hashing, Pair, Path
from controller.plan.path_columns import PairColumns, PathColumns
from controller.plan.plan import Plan
from controller.plan.subscribers import Subscribers
from controller.schemes.registry import scheme_class
from controller.schemes.reuse import Reused
from controller.schemes.scheme import Scheme
from controller.schemes.shares import share_traffic
from topologies import Fabric
from topologies.model.columns import columns
from topologies.model.computed_once import computed_once
from topologies.transform.spares import dark

__all__ = ["check_routes", "make_plan"]


@garbage_collection_paused()
def make_plan(
    fabric: Fabric,
    *,
    scheme: str = "",
    strategy: str = "all-path",
    demand: Demand | None = None,
    peers: Iterable[Pair] | None = None,
    failed: Set[str] = frozenset(),
    rules: str = "T2-G",
    hashing: Hashing = "per-tier",
    standby: int = 0,
    payload_bytes: int = 0,
    check: bool = True,
    previous: Plan | None = None,
) -> Plan:
    """Make a plan of a fabric.

    Args:
        fabric: The fabric.
        scheme: Name of a forwarding scheme (controller.schemes.registry); by default the first scheme
            that serves the fabric.
        strategy: Name of a strategy of the scheme (controller.schemes.strategy), which decides the paths
            that a source uses to a destination.
        demand: Bytes by source and destination. If given, the shares of paths minimise the load of the
            busiest link (controller.paths.shares), and pairs without demand use their paths of fewest hops.
            If None, shares follow the rates and lengths of paths.
        peers: Pairs that get source routes, in both directions; by default all pairs of endpoints, except
            endpoints whose NICs have no link or circuit. Address tables lead to all other endpoints too.
        failed: Names of links that carry no route.
        rules: Name of the turn rules.
        hashing: Bits of the hash by which switches choose ports: each tier of switches uses bits of its own
            (per-tier), or all tiers use the same bits (identical).
        standby: Number of buckets for standby paths of a pair (source, destination) with a single path;
            standby paths share no link with the path in use. With an adaptive strategy, all pairs have
            standby paths. A fabric has standby paths only if source routes decide every hop.
        payload_bytes: Bytes of data in a full frame. A pair whose demand fills fewer than 16 frames gets no
            paths longer than its candidates.
        check: Raise DeadlockError if the routes could deadlock.
        previous: An earlier plan. Parts of it that still hold are used again, which saves time and does not
            change the result.

    Raises:
        PlanError: A pair has no path, or a name is unknown.
        DeadlockError: The routes could deadlock.
    """
    kind = scheme_class(fabric, scheme)
    chosen = kind.find_strategy(strategy)
    kind.check_strategy(chosen, fabric)
    turns = kind.rule_set(rules, fabric)
    finder = PathFinder(fabric, failed, hashing, up_first=turns.up_first)
    routing = kind(finder, turns, chosen)
    pairs = _pairs(fabric, peers)
    reused = Reused()
    same = scheme, strategy, rules, hashing
    if previous is not None and same == _names(previous):
        reused = kind.reuse(previous, fabric, chosen, finder.failed)
    candidates = _candidates(routing, pairs, reused, same)
    if len(lost := np.flatnonzero(candidates.counts == 0)):
        source, destination = pairs.name(int(lost[0]))
        links = f"{len(failed)} links failed" if failed else "no link failed"
        raise PlanError(
            f"rules {rules} allow no path from {source} to {destination}, {links}",
            remedy="plan with fewer failed links" if failed else "use rules T2-G, or add links",
        )
    wanted = {} if demand is None else check_demand(fabric, demand)
    if chosen.by_hash:
        routes = routing.all_ecmp_routes(candidates)
        weights: Mapping[Pair, tuple[float, ...]] = {}
    else:
        shared = None if demand is None or routing.moving_circuits else wanted
        routes, weights = share_traffic(routing, candidates, shared, payload_bytes, standby)
    # Without new links, every permitted turn was permitted in the previous fabric too.
    acyclic = reused.previous is not None and _permits_no_cycle(reused.previous.fabric, turns)
    if check and not (reused.no_new_links and acyclic):
        check_routes(routing, (path for paths in routes.values() for path in paths))
    return Plan(
        fabric=fabric,
        scheme=scheme,
        strategy=strategy,
        rules=rules,
        failed=frozenset(failed),
        routes=routes,
        entries=routing.entries(routes, reused),
        subscribers=Subscribers(candidates if chosen.by_hash else routes.paths),
        candidates=candidates,
        hashing=hashing,
        weights=weights,
        demand=wanted,
    )


def _names(plan: Plan) -> tuple[str, ...]:
    return plan.scheme, plan.strategy, plan.rules, plan.hashing


def _candidates(routing: Scheme, pairs: PairColumns, reused: Reused, names: tuple[str, ...]) -> PathColumns:
    """Return the candidate paths of each pair.

    While no link has failed, the candidates depend on the fabric and `names` only. The candidates of such a
    plan are cached with the fabric, so that the next plan searches only pairs that the cache lacks.
    """
    known = reused.candidates
    stored = {} if routing.finder.failed else _known_candidates(routing.fabric)
    if known is None:
        known = stored.get(names)
    if known is None:
        candidates = routing.all_candidates(pairs)
    else:
        missing = known.pairs.numbers(pairs) < 0
        candidates = (
            known
            if len(known) == len(pairs) and not missing.any()
            else known.merged(pairs, routing.all_candidates(pairs.chosen(missing)))
        )
    stored[names] = candidates
    return candidates


@computed_once
def _known_candidates(_: Fabric) -> dict[tuple[str, ...], PathColumns]:
    """Return the fabric's cache: the candidates of the last plan without failed links, by `_names`."""
    return {}


def _pairs(fabric: Fabric, peers: Iterable[Pair] | None) -> PairColumns:
    """Return the pairs to plan for, in the order of the fabric's nodes."""
    if peers is None:
        unlit = dark(fabric)
        ends = np.array([node.index for node in fabric.endpoints if node.name not in unlit], np.int32)
        sources, destinations = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
        apart = sources != destinations
        return PairColumns(fabric, sources[apart], destinations[apart])
    one_way = list(peers)
    pairs = PairColumns.of(fabric, [*one_way, *((destination, source) for source, destination in one_way)])
    ends = columns(fabric).tiers == 0
    wrong = ~ends[pairs.sources] | ~ends[pairs.destinations] | (pairs.sources == pairs.destinations)
    if wrong.any():
        source, destination = pairs.name(int(np.argmax(wrong)))
        raise PlanError(
            f"cannot plan a route from {source} to {destination}",
            remedy="plan between two different endpoints",
        )
    return pairs


def check_routes(routing: Scheme, routes: Iterable[Path]) -> None:
    """Raise DeadlockError if `routes` and the paths of the address tables together could deadlock.

    If the turns that the rules permit close no cycle, no routes can deadlock and no paths are searched.
    """
    fabric, rules = routing.fabric, routing.rules
    if _permits_no_cycle(fabric, rules):
        return
    ends = [node.name for node in fabric.endpoints]
    tables = (
        _until_refused_turn(rules, fabric, table_path(routing, source, destination))
        for source, destination in permutations(ends, 2)
    )
    paths = dict.fromkeys([*routes, *tables])
    deadlock.check_acyclic(
        deadlock.path_graph(fabric, paths, rules),
        what=f"routes of {fabric.name} under rules {rules.name}",
    )


def _permits_no_cycle(fabric: Fabric, rules: RuleSet) -> bool:
    """Return whether the turns that the rules permit close no cycle; the result is cached with the fabric."""
    known = _known_verdicts(fabric)
    if rules.name not in known:
        known[rules.name] = permits_no_cycle(fabric, rules)
    return known[rules.name]


@computed_once
def _known_verdicts(_: Fabric) -> dict[str, bool]:
    """Return the fabric's cache of the results of `_permits_no_cycle`, by name of the rules."""
    return {}


def _until_refused_turn(rules: RuleSet, fabric: Fabric, path: Path) -> Path:
    """Return a path up to its first forbidden turn, where the switch drops the frame."""
    while rules.vls_of(fabric, path) is None:
        path = path[:-1]
    return path
