# SPDX-License-Identifier: Apache-2.0
"""The plan of a fabric: routes, entries of every node, and the nodes to notify when a link fails."""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import permutations

from controller.deadlock import dependency_graph as deadlock
from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.forwarding.next_hop import table_path
from controller.garbage import garbage_collection_paused
from controller.paths.finder import PathFinder
from controller.paths.shares.column_generation import relieve
from controller.paths.shares.standby import add_standby_paths
from controller.paths.shares.weights import Demand, apportion, check_demand, divide
from controller.plan.entry import BUCKETS, Entry, Hashing, Pair, Path
from controller.plan.plan import Plan
from controller.plan.subscribers import Subscribers
from controller.schemes.registry import scheme_class
from controller.schemes.reuse import Reused
from controller.schemes.scheme import Scheme
from topologies import Fabric
from topologies.model.computed_once import computed_once
from topologies.transform.spares import dark

__all__ = ["check_routes", "make_plan"]

# Largest number of paths for which shares are solved: a larger linear program takes minutes.
_MAX_SHARED_PATHS = 50_000


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
        scheme: Name of a forwarding scheme (controller.schemes.registry); by default that of the fabric.
        strategy: Name of a strategy of the scheme (controller.schemes.strategy): the paths that a pair uses.
        demand: Bytes by source and destination, for which the shares of paths keep the busiest link least
            busy where source routes decide every hop (controller.paths.shares); without it shares follow the
            rates and lengths of paths. Pairs without demand then use their paths of fewest hops.
        peers: Pairs to plan source routes for, in both directions; by default all pairs of endpoints that an
            optical switch does not leave dark. The tables reach all other endpoints too.
        failed: Names of links that carry no route.
        rules: Name of the turn rules.
        hashing: Bits of the hash by which the switches of a tier choose.
        standby: Number of buckets that a pair with a single path gets for paths that share no link with it,
            where source routes decide every hop.
        payload_bytes: Size of a frame; pairs that send too few frames get no longer paths.
        check: Raise DeadlockError when the routes could deadlock.
        previous: A plan whose parts are used again where they hold, which changes no result.

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
    pairs = _ordered_pairs(fabric, peers)
    reused = Reused()
    same = scheme, strategy, rules, hashing
    if previous is not None and same == _names(previous):
        reused = kind.reuse(previous, fabric, chosen, finder.failed)
    candidates = _candidates(routing, pairs, reused, same)
    for (source, destination), paths in candidates.items():
        if not paths:
            links = f"{len(failed)} links failed" if failed else "no link failed"
            raise PlanError(
                f"rules {rules}: no path from {source} to {destination}, {links}",
                remedy="plan with fewer failed links" if failed else "use rules T2-G, or add links",
            )
    if chosen.by_hash:
        routes = {pair: routing.ecmp_routes(paths) for pair, paths in candidates.items()}
        weights = {}
    else:
        routes, weights = _routes(routing, candidates, demand, payload_bytes, reused)
        if kind.steers_every_hop(fabric):
            add_standby_paths(routing, routes, weights, candidates, standby, adaptive=chosen.adaptive)
    # Without new links the permitted turns are among those of the previous fabric.
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
        entries=_entries(routing, routes, reused),
        subscribers=Subscribers(fabric, candidates, {} if chosen.by_hash else routes),
        candidates=candidates,
        hashing=hashing,
        weights=weights,
        demand={} if demand is None else check_demand(fabric, demand),
    )


def _names(plan: Plan) -> tuple[str, ...]:
    return plan.scheme, plan.strategy, plan.rules, plan.hashing


def _candidates(
    routing: Scheme, pairs: Sequence[Pair], reused: Reused, names: tuple[str, ...]
) -> dict[Pair, list[Path]]:
    """Return the candidate paths of each pair.

    Candidates without failures follow from the fabric, which keeps them for the next plan.
    """
    known: dict[Pair, list[Path]] = {}
    if not routing.finder.failed:
        known = _known_candidates(routing.fabric, names)
    kept = reused.candidates
    known |= routing.all_candidates([pair for pair in pairs if pair not in kept and pair not in known])
    return {pair: kept[pair] if pair in kept else known[pair] for pair in pairs}


@computed_once
def _known_candidates(_: Fabric, names: tuple[str, ...]) -> dict[Pair, list[Path]]:
    """Return the candidates without failures that are known already, by the names of `_names`."""
    return {}


def _ordered_pairs(fabric: Fabric, peers: Iterable[Pair] | None) -> list[Pair]:
    """Return the pairs to plan for, in the order of the fabric's nodes."""
    if peers is None:
        unlit = dark(fabric)
        ends = [node.name for node in fabric.endpoints if node.name not in unlit]
        return list(permutations(ends, 2))
    index = {node.name: node.index for node in fabric.nodes}
    pairs = {pair for source, destination in peers for pair in ((source, destination), (destination, source))}
    for source, destination in pairs:
        if fabric.node(source).is_switch or fabric.node(destination).is_switch or source == destination:
            raise PlanError(
                f"a route from {source} to {destination}", remedy="plan between two different endpoints"
            )
    return sorted(pairs, key=lambda pair: (index[pair[0]], index[pair[1]]))


def check_routes(routing: Scheme, routes: Iterable[Path]) -> None:
    """Raise DeadlockError when these routes, together with those of the tables, could deadlock.

    If the turns that the rules permit close no cycle, no routes do.
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
    """Return whether permitted turns close no cycle, which follows from links and coordinates alone."""
    known = _known_verdicts(fabric)
    if rules.name not in known:
        known[rules.name] = not deadlock.find_cycle(deadlock.permitted_graph(fabric, rules))
    return known[rules.name]


@computed_once
def _known_verdicts(_: Fabric) -> dict[str, bool]:
    """Return whether permitted turns close no cycle, by name of the rules, as far as it is known already."""
    return {}


def _until_refused_turn(rules: RuleSet, fabric: Fabric, path: Path) -> Path:
    """Return a path up to its first forbidden turn, where the switch drops the frame."""
    while rules.vls_of(fabric, path) is None:
        path = path[:-1]
    return path


def _routes(
    routing: Scheme,
    candidates: Mapping[Pair, list[Path]],
    demand: Demand | None,
    payload_bytes: int,
    reused: Reused,
) -> tuple[dict[Pair, tuple[Path, ...]], dict[Pair, tuple[float, ...]]]:
    """Return the paths of the 16 buckets by pair, and the weights of those that do not count alike."""
    finder, fabric = routing.finder, routing.fabric
    wanted = {} if demand is None else check_demand(fabric, demand)
    if routing.moving_circuits:
        demand, wanted = None, {}
    solvable = sum(len(candidates[pair]) for pair in wanted) <= _MAX_SHARED_PATHS
    steered = routing.steers_every_hop(fabric)
    meshed = [pair for pair in wanted if steered and routing.uses_longer_paths(*pair)]
    solved: Mapping[Pair, tuple[Sequence[Path], list[float]]] = {}
    if solvable:
        solved = relieve(finder, routing.rules, wanted, candidates, meshed, payload_bytes)
    routes: dict[Pair, tuple[Path, ...]] = {}
    weights: dict[Pair, tuple[float, ...]] = {}
    for pair, paths in candidates.items():
        if (same := reused.routes_of(pair)) is not None:
            routes[pair] = same
            continue
        turn = fabric.node(pair[0]).index + fabric.node(pair[1]).index
        if pair in solved and steered:
            routes[pair], exact = divide(*solved[pair], turn)
            if exact is not None:
                weights[pair] = exact
        elif pair in solved:
            routes[pair] = apportion(*solved[pair], turn)
        elif len(paths) == 1:
            routes[pair] = (paths[0],) * BUCKETS
        elif demand is None:
            routes[pair] = apportion(paths, routing.rate_weights(paths), turn)
        else:
            fewest = [path for path in paths if len(path) == len(paths[0])]
            routes[pair] = apportion(fewest, [1.0] * len(fewest), turn)
        routes[pair] = reused.same_routes(pair, routes[pair])
    return routes, weights


def _entries(
    routing: Scheme, routes: Mapping[Pair, tuple[Path, ...]], reused: Reused
) -> dict[str, Sequence[Entry]]:
    by_source: dict[str, dict[str, tuple[Path, ...]]] = {node.name: {} for node in routing.fabric.nodes}
    for (source, destination), paths in routes.items():
        by_source[source][destination] = paths
    entries: dict[str, Sequence[Entry]] = {}
    for node, own in by_source.items():
        same = reused.entries_of(node, own)
        entries[node] = reused.same_entries(node, routing.entries(node, own)) if same is None else same
    return entries
