# SPDX-License-Identifier: Apache-2.0
"""The plan of a fabric: routes, entries of every node, and the nodes to notify when a link fails."""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import permutations

from controller.deadlock import dependency_graph as deadlock
from controller.deadlock.turn_rules import RuleSet, rule_set
from controller.errors import PlanError
from controller.garbage import garbage_collection_paused
from controller.paths.candidates import candidates_of
from controller.plan.entry import BUCKETS, Entry, Hashing, Pair, Path, Strategy
from controller.plan.plan import Plan
from controller.recovery.subscribers import Subscribers
from controller.reuse import Kept, kept_parts
from controller.routing.all_path import Router
from controller.routing.columns import relieve
from controller.routing.general.router import GraphRouter, router_for
from controller.routing.paths import PathFinder, ocs_dimensions
from controller.routing.standby import add_standby_paths
from controller.routing.weights import Demand, apportion, check_demand, divide, rate_weights
from controller.tables.next_hop import table_path
from controller.tables.node_entries import node_entries
from controller.tables.segment import has_table
from topologies import Fabric
from topologies.transform.spares import dark

__all__ = ["check_routes", "make_plan", "steers_every_hop"]

# Largest number of paths for which shares are solved: a larger linear program takes minutes.
_MAX_SHARED_PATHS = 50_000


@garbage_collection_paused()
def make_plan(
    fabric: Fabric,
    *,
    strategy: Strategy = "all-path",
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
    """Make a plan that avoids the `failed` links, given by name.

    Source routes are planned for `peers`, in both directions, or for all pairs of endpoints that an optical
    switch does not leave dark; the tables reach all other endpoints too.

    `shortest` gives a destination one path, lower dimensions first. `all-path` spreads over all paths of up
    to two hops: by rate and length, or under a `demand` (bytes by source and destination) so that the
    busiest link is least busy, with every permitted longer path in a mesh that relieves it
    (controller.routing.columns), except for pairs that send too few frames of `payload_bytes`; pairs without
    demand then use their paths of fewest hops. Up to `standby` buckets of a pair that would otherwise depend
    on a single path get paths that share no link with it. `adaptive` is `all-path` with sources that leave
    congested paths: all pairs get such buckets. Longer and standby paths and exact weights exist only where
    `steers_every_hop`: other sources send by all buckets alike. What is farther goes by switches, in equal
    shares; `detour` and `borrow` use longer paths as well, in a mesh whatever the demand. Where there is a
    core of circuits shares follow from these, whatever the demand (controller.routing.circuit_paths).
    `hashed` is `shortest`, but where switches lead, a source chooses no more than its port; they choose by
    `hashing`. `tables` is for fabrics without such a choice: no frame has a source route. DeadlockError when
    the routes could deadlock, unless `check` is off; PlanError when a pair has no path. Pairs that the
    difference to a `previous` plan cannot concern keep the candidate paths and entries of that plan, which
    changes no result.
    """
    turns = rule_set(rules, fabric)
    finder = PathFinder(fabric, failed, hashing, up_first=turns.up_first)
    router = router_for(finder, turns, strategy)
    pairs = _ordered_pairs(fabric, peers)
    if strategy == "tables" and not steers_every_hop(fabric):
        raise PlanError(
            f"strategy tables on {fabric.name}: switches choose among ports by hash",
            remedy="use strategy hashed",
        )
    kept = kept_parts(previous, fabric, strategy=strategy, rules=rules, hashing=hashing, failed=finder.failed)
    earlier = {} if kept is None else kept.candidates
    candidates = _candidates(router, pairs, strategy, rules, hashing, earlier)
    for (source, destination), paths in candidates.items():
        if not paths:
            links = f"{len(failed)} links failed" if failed else "no link failed"
            raise PlanError(
                f"rules {rules}: no path from {source} to {destination}, {links}",
                remedy="plan with fewer failed links" if failed else "use rules T2-G, or add links",
            )
    if strategy == "hashed":
        routes = {pair: router.ecmp_routes(paths) for pair, paths in candidates.items()}
        weights = {}
    else:
        routes, weights = _routes(router, candidates, demand, payload_bytes, kept)
        if strategy == "adaptive" and not steers_every_hop(fabric):
            raise PlanError(
                f"strategy adaptive on {fabric.name}: switches choose ports of their own, so a source cannot "
                "choose its paths",
                remedy="use strategy all-path, or a fabric whose source routes decide every hop",
            )
        if steers_every_hop(fabric):
            add_standby_paths(router, routes, weights, candidates, standby)
    # Without new links the permitted turns are among those of the previous fabric.
    if check and not (kept and kept.no_new_links and _permits_no_cycle(kept.previous.fabric, turns)):
        check_routes(finder, turns, (path for paths in routes.values() for path in paths))
    return Plan(
        fabric=fabric,
        strategy=strategy,
        rules=rules,
        failed=frozenset(failed),
        routes=routes,
        entries=_entries(finder, turns, routes, strategy, kept),
        subscribers=Subscribers(fabric, candidates, {} if strategy == "hashed" else routes),
        candidates=candidates,
        hashing=hashing,
        weights=weights,
        demand={} if demand is None else check_demand(fabric, demand),
    )


def _candidates(
    router: Router | GraphRouter,
    pairs: Sequence[Pair],
    strategy: Strategy,
    rules: str,
    hashing: Hashing,
    kept: Mapping[Pair, list[Path]],
) -> dict[Pair, list[Path]]:
    """Return the candidate paths of each pair; `kept` has those of some pairs.

    Candidates without failures follow from the fabric, which keeps them for the next plan.
    """
    finder = router.finder
    known: dict[Pair, list[Path]] = {}
    if not finder.failed:
        known = finder.fabric.cached(("candidates", strategy, rules, hashing), dict)
    missing = [pair for pair in pairs if pair not in kept and pair not in known]
    if isinstance(router, Router):
        known |= candidates_of(router, missing)
    else:
        known |= {pair: router.candidates(*pair) for pair in missing}
    return {pair: kept[pair] if pair in kept else known[pair] for pair in pairs}


def _ordered_pairs(fabric: Fabric, peers: Iterable[Pair] | None) -> list[Pair]:
    """Return the pairs to plan for, in the order of the fabric's nodes."""
    if peers is None:
        unlit = dark(fabric)
        ends = [node.name for node in fabric.nodes if not node.tier and node.name not in unlit]
        return list(permutations(ends, 2))
    index = {node.name: node.index for node in fabric.nodes}
    pairs = {pair for source, destination in peers for pair in ((source, destination), (destination, source))}
    for source, destination in pairs:
        if fabric.node(source).tier or fabric.node(destination).tier or source == destination:
            raise PlanError(
                f"a route from {source} to {destination}", remedy="plan between two different endpoints"
            )
    return sorted(pairs, key=lambda pair: (index[pair[0]], index[pair[1]]))


def steers_every_hop(fabric: Fabric) -> bool:
    """Return whether source routes decide every hop of a frame, so that a source knows its paths."""
    return not fabric.optical and not any(has_table(node, "multipath") for node in fabric.nodes)


def check_routes(finder: PathFinder, rules: RuleSet, routes: Iterable[Path]) -> None:
    """Raise DeadlockError when these routes, together with those of the tables, could deadlock.

    If the turns that the rules permit close no cycle, no routes do.
    """
    fabric = finder.fabric
    if _permits_no_cycle(fabric, rules):
        return
    ends = [node.name for node in fabric.nodes if not node.tier]
    tables = (
        _until_refused_turn(rules, fabric, table_path(finder, source, destination))
        for source, destination in permutations(ends, 2)
    )
    paths = dict.fromkeys([*routes, *tables])
    deadlock.check_acyclic(
        deadlock.path_graph(fabric, paths, rules),
        what=f"routes of {fabric.name} under rules {rules.name}",
    )


def _permits_no_cycle(fabric: Fabric, rules: RuleSet) -> bool:
    """Return whether permitted turns close no cycle, which follows from links and coordinates alone."""
    return fabric.cached(
        ("permitted", rules.name), lambda: not deadlock.find_cycle(deadlock.permitted_graph(fabric, rules))
    )


def _until_refused_turn(rules: RuleSet, fabric: Fabric, path: Path) -> Path:
    """Return a path up to its first forbidden turn, where the switch drops the frame."""
    while rules.vls_of(fabric, path) is None:
        path = path[:-1]
    return path


def _routes(
    router: Router | GraphRouter,
    candidates: Mapping[Pair, list[Path]],
    demand: Demand | None,
    payload_bytes: int,
    kept: Kept | None = None,
) -> tuple[dict[Pair, tuple[Path, ...]], dict[Pair, tuple[float, ...]]]:
    """Return the paths of the 16 buckets by pair, and the weights of those that do not count alike."""
    finder, fabric = router.finder, router.finder.fabric
    wanted = {} if demand is None else check_demand(fabric, demand)
    if ocs_dimensions(fabric):
        demand, wanted = None, {}
    solvable = sum(len(candidates[pair]) for pair in wanted) <= _MAX_SHARED_PATHS
    steered = steers_every_hop(fabric)
    meshed = [pair for pair in wanted if steered and router.uses_longer_paths(*pair)]
    solved: Mapping[Pair, tuple[Sequence[Path], list[float]]] = {}
    if solvable:
        solved = relieve(finder, router.rules, wanted, candidates, meshed, payload_bytes)
    routes: dict[Pair, tuple[Path, ...]] = {}
    weights: dict[Pair, tuple[float, ...]] = {}
    for pair, paths in candidates.items():
        if kept is not None and (same := kept.routes_of(pair)) is not None:
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
            routes[pair] = apportion(paths, rate_weights(fabric, paths, finder.failed), turn)
        else:
            fewest = [path for path in paths if len(path) == len(paths[0])]
            routes[pair] = apportion(fewest, [1.0] * len(fewest), turn)
        if kept is not None:
            routes[pair] = kept.same_routes(pair, routes[pair])
    return routes, weights


def _entries(
    finder: PathFinder,
    rules: RuleSet,
    routes: Mapping[Pair, tuple[Path, ...]],
    strategy: Strategy,
    kept: Kept | None,
) -> dict[str, tuple[Entry, ...]]:
    fabric = finder.fabric
    by_source: dict[str, dict[str, tuple[Path, ...]]] = {node.name: {} for node in fabric.nodes}
    for (source, destination), paths in routes.items():
        by_source[source][destination] = paths
    return {node: node_entries(finder, rules, node, own, strategy, kept) for node, own in by_source.items()}
