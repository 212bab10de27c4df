# SPDX-License-Identifier: Apache-2.0
"""Parts of a previous plan that a new plan can use again without a change of its result.

more links have failed    a pair keeps its candidates if its ends have no path over the newly failed links
circuits have changed     a pair keeps its candidates if they are shorter than any path over a circuit of
                          the core (LumosCore); endpoints keep their address tables
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.plan.path_columns import PathColumns
from controller.plan.plan import Plan
from controller.plan.rows import Block, NodeEntries
from topologies import Fabric
from topologies.model.circuits import circuit_of, core_dimensions
from topologies.model.columns import columns
from topologies.model.computed_once import computed_for_any_circuits

__all__ = ["Reused", "after_failures", "after_moved_circuits"]


@final
@dataclass(frozen=True, slots=True)
class Reused:
    """Parts of a previous plan still valid in a new plan; none by default.

    Attributes:
        previous: The previous plan; None if no part of it holds.
        candidates: Candidate paths of pairs with unchanged candidates.
        circuits: Both fabrics differ in the circuits of a core alone, so tables of endpoints stay.
        no_new_links: Every link of the new fabric is a link of the previous fabric.
    """

    previous: Plan | None = None
    candidates: PathColumns | None = None
    circuits: bool = False
    no_new_links: bool = False

    def table_blocks(self, node: str) -> tuple[Block, ...] | None:
        """Return the turn and address entries of an endpoint; None if they may change, as on switches."""
        if self.previous is None or not self.circuits or self.previous.fabric.node(node).is_switch:
            return None
        known = self.previous.entries[node]
        return known.blocks[:2] if isinstance(known, NodeEntries) else None


def after_failures(previous: Plan, fabric: Fabric, failed: frozenset[str]) -> Reused:
    """Return candidates of pairs whose ends have no newly failed link and no candidate path over one.

    These candidates stay the same because a failure removes paths and adds none.
    """
    known = previous.candidates
    if not (isinstance(known, PathColumns) and _are_alike(previous.fabric, fabric)):
        return Reused()
    if not previous.failed <= failed:
        return Reused()
    touched = np.zeros(len(fabric.nodes), np.bool_)
    for name in failed - previous.failed:
        link = fabric.link(name)
        for node in (*previous.subscribers[name], link.a.node, link.b.node):
            touched[fabric.node(node).index] = True
    kept = ~touched[known.pairs.sources] & ~touched[known.pairs.destinations]
    if not kept.any():
        return Reused()
    return Reused(previous, known.chosen(kept).on(fabric), no_new_links=True)


def _are_alike(fabric: Fabric, other: Fabric) -> bool:
    """Return whether two fabrics are equal except for their addresses."""
    return fabric.links is other.links and all(
        (a.name, a.tier, a.level, a.coordinates) == (b.name, b.tier, b.level, b.coordinates)
        for a, b in zip(fabric.nodes, other.nodes, strict=True)
    )


def after_moved_circuits(previous: Plan, fabric: Fabric, failed: frozenset[str]) -> Reused:
    """Return candidates shorter than any path over a circuit; none if more than circuits differ.

    All circuits must join switches of the highest level: a path over a circuit then climbs to the core and
    descends from it, which gives its least number of hops.
    """
    old, known = previous.fabric, previous.candidates
    if old.nodes is not fabric.nodes or old.optical is not fabric.optical or not _joins_the_top(fabric):
        return Reused()
    links, old_links = ({link.name: link for link in either.links} for either in (fabric, old))
    # Fabrics that differ in circuits alone share the objects of all other links.
    differing = {name for name, link in links.items() if old_links.get(name) is not link}
    differing |= old_links.keys() - links.keys()
    differing = {name for name in differing if links.get(name) != old_links.get(name)}
    if not _are_circuits(fabric, differing | (failed ^ previous.failed)):
        return Reused()
    if not (isinstance(known, PathColumns) and len(known)):
        return Reused()
    climb = np.array([_hops_to_core(fabric).get(node.name, len(fabric.nodes)) for node in fabric.nodes])
    pairs, first = known.pairs, known.first[:-1]
    shorter = known.lengths[first] < climb[pairs.sources] + 1 + climb[pairs.destinations]
    inner = known.nodes[first][:, 1:].copy()
    inner[np.arange(len(pairs)), known.lengths[first] - 1] = -1  # the destination
    by_switches = ((inner < 0) | (columns(fabric).tiers[inner] > 0)).all(axis=1)
    kept = shorter & by_switches
    if not kept.any():
        return Reused()
    no_new_links = links.keys() <= old_links.keys()
    return Reused(previous, known.chosen(kept).on(fabric), circuits=True, no_new_links=no_new_links)


def _are_circuits(fabric: Fabric, names: Iterable[str]) -> bool:
    return all(circuit_of(fabric, name) is not None for name in names)


@computed_for_any_circuits
def _hops_to_core(fabric: Fabric) -> Mapping[str, int]:
    return fabric.hops_from(core_dimensions(fabric))


def _joins_the_top(fabric: Fabric) -> bool:
    """Return whether optical switches join only switches of the highest level, all on one tier."""
    core = {end.node for switch in fabric.optical for end in switch.ends}
    levels = {(fabric.node(name).level, fabric.node(name).tier) for name in core}
    top = max(node.level for node in fabric.nodes)
    return core == core_dimensions(fabric).keys() and len(levels) == 1 and levels.pop()[0] == top
