# SPDX-License-Identifier: Apache-2.0
"""Routes withdrawn by neighbours of a switch, as BGP withdraws the route of a host or segment (HPN).

When a neighbour has lost a downlink, a switch that chooses among equal neighbours by hash removes this
neighbour from the groups for the prefixes below the downlink.
"""

from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from typing import final

from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import Prefix, descendants
from controller.tables.segments.segment import NextHop, Segment, equal_cost_group
from topologies import Fabric, Node
from topologies.model.computed_once import computed_once

__all__ = ["withdrawn_next_hop", "withdrawn_segments"]


def withdrawn_segments(finder: PathFinder, node: Node, uplinks: Sequence[str]) -> list[Segment]:
    """Return segments for the prefixes that some neighbours of a switch no longer reach.

    The group of each segment leaves these neighbours out. The segment has a longer prefix than the planned
    segment, or replaces it. `uplinks` are the neighbours by which the switch climbs. A switch knows of a
    neighbour's failed downlink once the neighbour has notified the switch.
    """
    lost: dict[Prefix, set[str]] = {}
    for upper, prefixes in _withdrawing(finder, node):
        for prefix in prefixes:
            lost.setdefault(prefix, set()).add(upper)
    left: dict[tuple[tuple[str, ...], frozenset[str]], NextHop] = {}
    segments: list[Segment] = []
    for prefix, losers in sorted(lost.items()):
        planned = tuple(_planned_neighbours(finder, node, prefix, uplinks))
        key = planned, frozenset(losers)
        if key not in left:
            left[key] = _without(planned, losers)
        segments.append(Segment(prefix, 0, 0, (left[key],)))
    return segments


def withdrawn_next_hop(
    finder: PathFinder, node: Node, address: int, uplinks: Sequence[str]
) -> tuple[int, NextHop] | None:
    """Return the prefix length and the next hop of an address in the segments of `withdrawn_segments`.

    None if no neighbour has withdrawn a prefix of the address. Segments of other addresses are not computed.
    """
    bits = finder.fabric.address_plan.bits
    losers: dict[Prefix, set[str]] = {}
    for upper, prefixes in _withdrawing(finder, node):
        if (prefix := prefixes.longest(address, bits)) is not None:
            losers.setdefault(prefix, set()).add(upper)
    if not losers:
        return None
    prefix = max(losers, key=lambda item: item.length)
    return prefix.length, _without(_planned_neighbours(finder, node, prefix, uplinks), losers[prefix])


@final
class _Withdrawn(frozenset[Prefix]):
    """Prefixes no longer reached by a switch."""

    def longest(self, address: int, bits: int) -> Prefix | None:
        """Return the longest prefix with which an address of `bits` bits begins; None if there is none."""
        for length in self.lengths:
            prefix = Prefix(address >> (bits - length) << (bits - length), length)
            if prefix in self:
                return prefix
        return None

    @cached_property
    def lengths(self) -> Sequence[int]:
        """Lengths of the prefixes, longest first."""
        return sorted({prefix.length for prefix in self}, reverse=True)


def _withdrawing(finder: PathFinder, node: Node) -> Iterator[tuple[str, _Withdrawn]]:
    """Yield each neighbour that has lost a neighbour of its own, and the prefixes that it withdraws."""
    if not finder.failed:
        return
    fabric, neighbours = finder.fabric, finder.neighbours(node.name)
    for upper, lost in finder.lost_neighbours.items():
        if upper in neighbours:
            own = node.name if node.name in lost else ""
            yield upper, _find_withdrawn(fabric, upper, frozenset(lost), own)


@computed_once
def _find_withdrawn(fabric: Fabric, upper: str, lost: frozenset[str], but: str) -> _Withdrawn:
    """Return the prefixes below the neighbours in `lost`, but below no other neighbour of `upper`.

    Prefixes below the neighbour `but` are left out.
    """
    below, bits, tier = descendants(fabric), fabric.address_plan.bits, fabric.node(upper).tier
    children = [name for name in fabric.neighbours(upper) if fabric.node(name).tier < tier]
    reachable = [below[name] for name in children if name not in lost]
    return _Withdrawn(
        prefix
        for child in children
        if child in lost and child != but
        for prefix in below[child].hops
        if all(other.hops_to_prefix(prefix, bits) is None for other in reachable)
    )


def _without(planned: Sequence[str], losers: Set[str]) -> NextHop:
    """Return the next hop for the neighbours in `planned` but not in `losers`."""
    return equal_cost_group([name for name in planned if name not in losers])


def _planned_neighbours(
    finder: PathFinder, node: Node, prefix: Prefix, uplinks: Sequence[str]
) -> Sequence[str]:
    """Return the planned neighbours for a prefix.

    They are the lower neighbours with the fewest hops to the prefix; `uplinks` if the prefix is not below.
    """
    fabric, below, bits = finder.fabric, descendants(finder.fabric), finder.fabric.address_plan.bits
    if below[node.name].hops_to_prefix(prefix, bits) is None:
        return uplinks
    lower = [name for name in finder.neighbours(node.name) if fabric.node(name).tier < node.tier]
    hops = {name: count for name in lower if (count := below[name].hops_to_prefix(prefix, bits)) is not None}
    return [name for name, count in hops.items() if count == min(hops.values())] or uplinks
