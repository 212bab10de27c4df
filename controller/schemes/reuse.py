# SPDX-License-Identifier: Apache-2.0
"""Parts of a previous plan that a new plan keeps, which changes no result.

If more links of a fabric have failed, the candidates of sources stay that have no path over these links. If
the core of a fabric has other optical circuits (LumosCore), candidates and routes stay of the pairs whose
paths are shorter than any path over a circuit, and so do the entries of endpoints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import final

from controller.plan.entry import Entry, Pair, Path
from controller.plan.plan import Plan
from topologies import Fabric
from topologies.model.circuits import circuit_of, core_dimensions
from topologies.model.computed_once import computed_once

__all__ = ["Reused", "after_failures", "after_moved_circuits"]


@final
@dataclass(frozen=True, slots=True)
class Reused:
    """Parts of the plan `previous` that hold in a new plan; nothing by default.

    `candidates` are by pair. With `circuits` the fabrics differ in the circuits of a core alone, and routes
    and entries stay as well. `no_new_links`: the new fabric has no link that the previous fabric lacks.
    """

    previous: Plan | None = None
    candidates: Mapping[Pair, list[Path]] = field(default_factory=dict)
    circuits: bool = False
    no_new_links: bool = False

    def routes_of(self, pair: Pair) -> tuple[Path, ...] | None:
        """Return the paths of a pair's buckets in the previous plan, or None if they may change."""
        if self.previous is None or not self.circuits or pair not in self.candidates:
            return None
        return self.previous.routes[pair]

    def same_routes(self, pair: Pair, routes: tuple[Path, ...]) -> tuple[Path, ...]:
        """Return these paths of a pair's buckets, as the object of the previous plan if they are equal."""
        known = self.previous.routes.get(pair) if self.previous is not None and self.circuits else None
        return known if known is not None and known == routes else routes

    def entries_of(self, node: str, routes: Mapping[str, Sequence[Path | None]]) -> Sequence[Entry] | None:
        """Return the entries of an endpoint in the previous plan, or None if they may change.

        `routes` are its routes by destination.
        """
        if self.previous is None or not self.circuits or self.previous.fabric.node(node).is_switch:
            return None
        known = self.previous.routes_from(node)
        if len(known) != len(routes) or not all(map(is_, map(known.get, routes), routes.values())):
            return None
        return self.previous.entries[node]

    def same_entries(self, node: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return all entries of a node, as the object of the previous plan if they are equal."""
        known = self.previous.entries[node] if self.previous is not None and self.circuits else None
        return known if known is not None and known == entries else entries


def after_failures(previous: Plan, fabric: Fabric, failed: frozenset[str]) -> Reused:
    """Return the candidates of sources that have none over the failed links and no failed link of their own.

    A failure takes paths away and adds none.
    """
    if not _are_alike(previous.fabric, fabric) or not previous.failed <= failed:
        return Reused()
    touched: set[str] = set()
    for name in failed - previous.failed:
        link = fabric.link(name)
        touched.update(previous.subscribers[name], (link.a.node, link.b.node))
    kept = {pair: paths for pair, paths in previous.candidates.items() if touched.isdisjoint(pair)}
    return Reused(previous, kept, no_new_links=True) if kept else Reused()


def _are_alike(fabric: Fabric, other: Fabric) -> bool:
    """Return whether two fabrics differ in addresses at most."""
    return fabric.links is other.links and all(
        (a.name, a.tier, a.level, a.coordinates) == (b.name, b.tier, b.level, b.coordinates)
        for a, b in zip(fabric.nodes, other.nodes, strict=True)
    )


def after_moved_circuits(previous: Plan, fabric: Fabric, failed: frozenset[str]) -> Reused:
    """Return the candidates that no circuit can shorten, of fabrics that differ in their circuits alone.

    Circuits that join switches of the highest level only: a path over circuits climbs to them and comes down.
    """
    old = previous.fabric
    if old.nodes is not fabric.nodes or old.optical is not fabric.optical or not _joins_the_top(fabric):
        return Reused()
    links, old_links = ({link.name: link for link in either.links} for either in (fabric, old))
    circuits = {name for name in links.keys() | old_links.keys() if circuit_of(fabric, name) is not None}
    differing = {name for name in links.keys() | old_links.keys() if links.get(name) != old_links.get(name)}
    if not differing <= circuits or failed - circuits != previous.failed - circuits:
        return Reused()
    climb = _hops_to_core(fabric)
    switches = {node.name for node in fabric.switches}
    most = len(fabric.nodes)
    candidates = {
        pair: paths
        for pair, paths in previous.candidates.items()
        if len(paths[0]) - 1 < climb.get(pair[0], most) + 1 + climb.get(pair[1], most)
        and switches.issuperset(paths[0][1:-1])
    }
    if not candidates:
        return Reused()
    return Reused(previous, candidates, circuits=True, no_new_links=links.keys() <= old_links.keys())


@computed_once
def _hops_to_core(fabric: Fabric) -> Mapping[str, int]:
    return fabric.hops_from(core_dimensions(fabric))


def _joins_the_top(fabric: Fabric) -> bool:
    """Return whether optical switches join switches of the highest level only, all of one tier."""
    core = {end.node for switch in fabric.optical for end in switch.ends}
    levels = {(fabric.node(name).level, fabric.node(name).tier) for name in core}
    top = max(node.level for node in fabric.nodes)
    return core == core_dimensions(fabric).keys() and len(levels) == 1 and levels.pop()[0] == top
