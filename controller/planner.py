# SPDX-License-Identifier: Apache-2.0
"""The plan of a fabric: routes, entries of every node, and the nodes to notify when a link fails."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import permutations
from typing import final

from controller.deadlock import dependency_graph as deadlock
from controller.deadlock.turn_rules import RuleSet, rule_set
from controller.errors import PlanError
from controller.garbage import garbage_collection_paused
from controller.plan import BUCKETS, Entry, Hashing, Path, Plan, Strategy
from controller.routing.all_path import Router
from controller.routing.columns import relieve
from controller.routing.general.order import is_graph
from controller.routing.general.router import GraphRouter, router_for
from controller.routing.paths import PathFinder, hops_of, ocs_dimensions
from controller.routing.standby import add_standby_paths
from controller.routing.weights import Demand, Pair, apportion, check_demand, divide, rate_weights
from controller.tables.next_hop import table_path
from controller.tables.node_entries import node_entries
from controller.tables.segment import has_table
from topologies import Fabric
from topologies.transform.spares import dark

__all__ = ["check_routes", "make_plan", "steers_every_hop"]

# Strategies whose candidate paths follow from the links alone, whatever the addresses.
_PATHS_BY_LINKS = ("all-path", "adaptive", "shortest")

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
    kept = _kept_candidates(previous, fabric, strategy, rules, finder.failed)
    candidates = {
        pair: router.candidates(*pair) if (paths := kept.get(pair)) is None else paths for pair in pairs
    }
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
        routes, weights = _routes(router, candidates, demand, payload_bytes)
        if strategy == "adaptive" and not steers_every_hop(fabric):
            raise PlanError(
                f"strategy adaptive on {fabric.name}: switches choose ports of their own, so a source cannot "
                "choose its paths",
                remedy="use strategy all-path, or a fabric whose source routes decide every hop",
            )
        if steers_every_hop(fabric):
            add_standby_paths(router, routes, weights, candidates, standby)
    if check and not (previous and kept and _permits_no_cycle(previous.fabric, turns)):
        check_routes(finder, turns, (path for paths in routes.values() for path in paths))
    return Plan(
        fabric=fabric,
        strategy=strategy,
        rules=rules,
        failed=frozenset(failed),
        routes=routes,
        entries=_entries(finder, turns, routes, strategy, previous if kept else None),
        subscribers=_Subscribers(fabric, candidates, {} if strategy == "hashed" else routes),
        candidates=candidates,
        hashing=hashing,
        weights=weights,
        demand={} if demand is None else check_demand(fabric, demand),
    )


def _kept_candidates(
    previous: Plan | None, fabric: Fabric, strategy: Strategy, rules: str, failed: frozenset[str]
) -> dict[Pair, list[Path]]:
    """Return the candidates of a previous plan that a plan of the same links with more failures has as well.

    A failure takes paths away and adds none, so the candidates of a source stay that has none over the failed
    links and no failed link itself. Empty where paths may depend on more than the links.
    """
    if (
        previous is None
        or not _are_alike(previous.fabric, fabric)
        or strategy not in _PATHS_BY_LINKS
        or (previous.strategy, previous.rules) != (strategy, rules)
        or not previous.failed <= failed
        or fabric.optical
        or is_graph(fabric)
    ):
        return {}
    touched: set[str] = set()
    for name in failed - previous.failed:
        link = fabric.link(name)
        touched.update(previous.subscribers[name], (link.a.node, link.b.node))
    return {pair: paths for pair, paths in previous.candidates.items() if touched.isdisjoint(pair)}


def _are_alike(fabric: Fabric, other: Fabric) -> bool:
    """Return whether two fabrics differ in addresses at most."""
    return fabric.links is other.links and all(
        (a.name, a.tier, a.level, a.coordinates) == (b.name, b.tier, b.level, b.coordinates)
        for a, b in zip(fabric.nodes, other.nodes, strict=True)
    )


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
    return routes, weights


def _entries(
    finder: PathFinder,
    rules: RuleSet,
    routes: Mapping[Pair, tuple[Path, ...]],
    strategy: Strategy,
    previous: Plan | None,
) -> dict[str, tuple[Entry, ...]]:
    fabric = finder.fabric
    by_source: dict[str, dict[str, tuple[Path, ...]]] = {node.name: {} for node in fabric.nodes}
    for (source, destination), paths in routes.items():
        by_source[source][destination] = paths
    return {
        node: node_entries(finder, rules, node, own, strategy, previous) for node, own in by_source.items()
    }


@final
class _Subscribers(Mapping[str, tuple[str, ...]]):
    """Sources with a candidate path over each link, in the order of the fabric's nodes.

    Candidates and not only routes count: a source that has moved to another candidate must learn when that
    path fails too. Routes beside the candidates are standby paths. Computed on first use, because most plans
    of large fabrics never need it.
    """

    def __init__(
        self,
        fabric: Fabric,
        candidates: Mapping[Pair, list[Path]],
        routes: Mapping[Pair, tuple[Path, ...]],
    ) -> None:
        self._fabric = fabric
        self._candidates = candidates
        self._routes = routes
        self._by_link: dict[str, tuple[str, ...]] | None = None

    def __getitem__(self, link: str) -> tuple[str, ...]:
        return (self._by_link or self._sources())[link]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_link or self._sources())

    def __len__(self) -> int:
        return len(self._fabric.links)

    @garbage_collection_paused()
    def _sources(self) -> dict[str, tuple[str, ...]]:
        if self._by_link is None:
            links = self._fabric.links
            watching: dict[str, dict[str, None]] = {link.name: {} for link in links}
            watched: dict[tuple[str, str], list[dict[str, None]]] = {}
            for link in links:
                for hop in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                    watched.setdefault(hop, []).append(watching[link.name])
            for pair, candidates in self._candidates.items():
                source = pair[0]
                paths = dict.fromkeys((*candidates, *self._routes.get(pair, ())))
                for hop in dict.fromkeys(hop for path in paths for hop in hops_of(path)):
                    for sources in watched[hop]:
                        sources[source] = None
            self._by_link = {link: tuple(sources) for link, sources in watching.items()}
        return self._by_link
