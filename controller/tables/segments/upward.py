# SPDX-License-Identifier: Apache-2.0
"""Segments for destinations above a node: the default segment, and segments of longer prefixes.

The default segment leads to the neighbours on the highest tier. A prefix gets a segment of its own if other
uplinks reach it by fewer hops, or if only some neighbours on the highest tier reach it.
"""

from collections.abc import Sequence
from functools import cache

from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import (
    Prefix,
    PrefixHops,
    descendants,
    field_ends,
    reachable_prefixes,
)
from controller.tables.segments.segment import Segment, equal_cost_group
from topologies import Fabric, Node
from topologies.model.computed_once import computed_for_any_circuits

__all__ = ["highest_neighbours", "upward_segments"]


def highest_neighbours(finder: PathFinder, here: Node) -> list[str]:
    """Return the neighbours in the highest tier; empty if this tier is not above the node's own tier."""
    tiers = {neighbour: finder.fabric.node(neighbour).tier for neighbour in finder.neighbours(here.name)}
    top = max(tiers.values(), default=0)
    return [neighbour for neighbour, tier in tiers.items() if tier == top > here.tier]


def upward_segments(
    finder: PathFinder, here: Node, meshed: Sequence[Prefix] = (), *, grouped: bool
) -> list[Segment]:
    """Return the default segment, to the highest tier, and segments of prefixes served by other uplinks.

    With `grouped`, the program has groups, and a next hop is the group of all uplinks. Otherwise the low bits
    of an address select an uplink.

    Prefixes in `meshed` use the node's own mesh, except for addresses whose holders have left the mesh.
    """
    fabric = finder.fabric
    higher = [
        neighbour for neighbour in finder.neighbours(here.name) if fabric.node(neighbour).tier > here.tier
    ]
    highest = highest_neighbours(finder, here)
    if not highest:
        return []
    bits, own = fabric.address_plan.bits, descendants(fabric)[here.name]
    by_some = _reached_by_some(fabric, tuple(higher), tuple(highest))
    nearer = {
        prefix: uplinks for prefix, uplinks in by_some.items() if own.hops_to_prefix(prefix, bits) is None
    }
    away = {Prefix(address, bits) for address in _displaced_addresses(fabric) if address != here.address}
    inside = [item for item in (*nearer, *away) if any(_is_within(item, mesh, bits) for mesh in meshed)]
    for prefix in inside:
        if prefix in away:
            nearer.setdefault(prefix, highest)
        else:
            del nearer[prefix]
    spread = _group_segment if grouped else _spread_segment
    created = [spread(bits, prefix, uplinks) for prefix, uplinks in sorted(nearer.items())]
    return [*created, spread(bits, Prefix(0, 0), highest)]


@computed_for_any_circuits
def _reached_by_some(
    fabric: Fabric, higher: tuple[str, ...], highest: tuple[str, ...]
) -> dict[Prefix, Sequence[str]]:
    """Return the prefixes badly served by the default segment, each with its better uplinks.

    Uplinks below the highest tier reach such a prefix by fewer hops than the uplinks in `highest`, or some of
    the uplinks in `highest` do not reach the prefix. Nodes with the same uplinks share the result.
    """
    bits, over = fabric.address_plan.bits, reachable_prefixes(fabric)
    # Most uplinks of a node reach the same prefixes by the same number of hops: compare each set once.
    alike: list[PrefixHops] = []
    for name in higher:
        if over[name] not in alike:
            alike.append(over[name])
    default = [reach for reach in alike if any(over[name] == reach for name in highest)]

    @cache
    def better(number: int, *, of_highest: bool) -> list[Prefix]:
        """Return the prefixes for which uplinks with reach `alike[number]` are better than the default."""
        prefixes = []
        for prefix, hops in alike[number].hops.items():
            result = [reach.hops_to_prefix(prefix, bits) for reach in default]
            # Uplinks of the default may not lead to the prefix, or only by more hops.
            if None in result or (not of_highest and hops < min(count or 0 for count in result)):
                prefixes.append(prefix)
        return prefixes

    nearer: dict[Prefix, list[str]] = {}
    for uplink in higher if len(higher) > 1 else ():
        for prefix in better(alike.index(over[uplink]), of_highest=uplink in highest):
            nearer.setdefault(prefix, []).append(uplink)
    return dict(nearer)


def _is_within(part: Prefix, whole: Prefix, bits: int) -> bool:
    return part.length >= whole.length and whole.contains(part.value, bits)


@computed_for_any_circuits
def _displaced_addresses(fabric: Fabric) -> tuple[int, ...]:
    """Return mesh addresses whose holders are in no mesh: spares that have replaced mesh members."""
    bits, first = fabric.address_plan.bits, field_ends(fabric)[0]
    ends = fabric.endpoints
    meshed = {node.name for node in ends if any(port.dimension is not None for port in node.ports)}
    home = {node.address >> (bits - first) for node in ends if node.name in meshed}
    return tuple(
        node.address for node in ends if node.name not in meshed and node.address >> (bits - first) in home
    )


def _group_segment(_: int, prefix: Prefix, uplinks: Sequence[str]) -> Segment:
    """Return a segment with a single next hop: the only uplink, or the group of all uplinks."""
    return Segment(prefix, 0, 0, (equal_cost_group(uplinks),))


def _spread_segment(bits: int, prefix: Prefix, uplinks: Sequence[str]) -> Segment:
    """Return a segment whose array spreads the low address bits over several uplinks."""
    width = min((len(uplinks) - 1).bit_length(), bits - prefix.length)
    array = tuple(uplinks[value % len(uplinks)] for value in range(1 << width))
    return Segment(prefix, 0, (1 << width) - 1, array)
