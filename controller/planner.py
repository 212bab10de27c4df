# SPDX-License-Identifier: Apache-2.0
"""The whole plan of a fabric: routes, entries for every switch, and whom to tell when a link fails."""

from collections.abc import Iterable, Mapping, Set

from controller import deadlock
from controller.all_path import Router, all_path_entries, deal
from controller.errors import PlanError
from controller.linear import linear_entries, table_path
from controller.paths import PathFinder, hops_of
from controller.plan import BUCKETS, Entry, Path, Plan, Strategy
from controller.turn_rules import RuleSet, rule_set, turn_entries
from controller.weights import Demand, Pair, by_rate, checked, least_utilisation
from topologies import Fabric

__all__ = ["check_routes", "make_plan"]


def make_plan(
    fabric: Fabric,
    *,
    strategy: Strategy = "all-path",
    demand: Demand | None = None,
    failed: Set[str] = frozenset(),
    rules: str = "T2-G",
    check: bool = True,
) -> Plan:
    """A plan that avoids the `failed` links, by name.

    `shortest` gives a destination one path, lower dimensions first. `all-path` spreads over all paths of up
    to two hops: by rate and length, or under a `demand` (bytes by source and destination) so that the
    busiest link is least busy; pairs without demand then use their paths of fewest hops. DeadlockError when
    the routes could deadlock, unless `check` is off; PlanError when a pair has no path.
    """
    finder = PathFinder(fabric, failed)
    turns = rule_set(rules, fabric)
    router = Router(finder, turns, strategy)
    names = [node.name for node in fabric.nodes]
    candidates = {
        (source, destination): router.candidates(source, destination)
        for source in names
        for destination in names
        if source != destination
    }
    for (source, destination), paths in candidates.items():
        if not paths:
            raise PlanError(
                f"rules {rules}: no path from {source} to {destination}, {len(failed)} links failed",
                remedy="plan with fewer failed links",
            )
    routes = _routes(fabric, candidates, demand)
    if check:
        check_routes(finder, turns, (path for paths in routes.values() for path in paths))
    return Plan(
        fabric=fabric,
        strategy=strategy,
        rules=rules,
        failed=frozenset(failed),
        routes=routes,
        entries=_entries(finder, turns, names, routes),
        watchers=_watchers(fabric, candidates),
    )


def check_routes(finder: PathFinder, rules: RuleSet, routes: Iterable[Path]) -> None:
    """Raises DeadlockError when these routes together with those of the tables could deadlock."""
    names = [node.name for node in finder.fabric.nodes]
    tables = (
        _forwarded(rules, finder.fabric, table_path(finder, source, destination))
        for source in names
        for destination in names
        if source != destination
    )
    paths = dict.fromkeys([*routes, *tables])
    deadlock.check(
        deadlock.dependencies(finder.fabric, paths, rules),
        what=f"routes of {finder.fabric.name} under rules {rules.name}",
    )


def _forwarded(rules: RuleSet, fabric: Fabric, path: Path) -> Path:
    """A path up to its first turn that is not allowed, where the switch drops the frame."""
    while rules.vls_of(fabric, path) is None:
        path = path[:-1]
    return path


def _routes(
    fabric: Fabric, candidates: Mapping[Pair, list[Path]], demand: Demand | None
) -> dict[Pair, tuple[Path, ...]]:
    shares = {} if demand is None else least_utilisation(fabric, checked(fabric, demand), candidates)
    routes: dict[Pair, tuple[Path, ...]] = {}
    for pair, paths in candidates.items():
        if len(paths) == 1:
            routes[pair] = (paths[0],) * BUCKETS
        elif pair in shares:
            routes[pair] = deal(paths, shares[pair])
        elif demand is None:
            routes[pair] = deal(paths, by_rate(fabric, paths))
        else:
            fewest = [path for path in paths if len(path) == len(paths[0])]
            routes[pair] = deal(fewest, [1.0] * len(fewest))
    return routes


def _entries(
    finder: PathFinder, rules: RuleSet, names: list[str], routes: Mapping[Pair, tuple[Path, ...]]
) -> dict[str, tuple[Entry, ...]]:
    fabric = finder.fabric
    return {
        node: (
            *turn_entries(rules, fabric, node),
            *linear_entries(finder, node),
            *all_path_entries(fabric, node, {far: routes[node, far] for far in names if far != node}),
        )
        for node in names
    }


def _watchers(fabric: Fabric, candidates: Mapping[Pair, list[Path]]) -> dict[str, tuple[str, ...]]:
    """For every link the sources that have a candidate path over it, in the order of the fabric's nodes.

    Candidates, not routes: a source that has moved to another of its candidates must learn when that fails
    too.
    """
    link_of = {
        (near, far): link.name
        for link in fabric.links
        for near, far in ((link.a.node, link.b.node), (link.b.node, link.a.node))
    }
    watching: dict[str, dict[str, None]] = {link.name: {} for link in fabric.links}
    for (source, _), paths in candidates.items():
        for path in paths:
            for hop in hops_of(path):
                watching[link_of[hop]][source] = None
    return {link: tuple(sources) for link, sources in watching.items()}
