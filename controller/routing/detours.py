# SPDX-License-Identifier: Apache-2.0
"""Detours: where a frame goes instead once a link has failed. Every such decision is in this file.

    reroute             a source replaces the source routes that use a failed link
    relay_in_line       a mesh node replaces a neighbour in its table by a relay node
    withdrawn_segments  a switch takes a neighbour that lost a downlink out of its ECMP group, as BGP does
                        when it withdraws the route of a host or segment (HPN, non-stacked dual-ToR)

`controller.recovery.node_controller` calls them when a node hears of a failure. Optical circuits are a case
of their own: controller.routing.circuit_paths shares traffic over the circuits that work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import TYPE_CHECKING, final

from controller.plan.entry import Path
from controller.routing.paths import PathFinder
from controller.routing.relief import PlannedLoad, relieved
from controller.tables.prefixes import Prefix, descendants
from controller.tables.segment import NextHop, Segment, has_table
from topologies import Fabric, Node

if TYPE_CHECKING:
    from controller.routing.all_path import Router
    from controller.routing.general.router import GraphRouter

__all__ = ["relay_in_line", "reroute", "upper_end", "withdrawn_next_hop", "withdrawn_segments"]


def reroute(
    router: Router | GraphRouter, planned: Sequence[Path], load: Callable[[], PlannedLoad] | None = None
) -> tuple[Path | None, ...]:
    """Return the 16 paths of one destination with each path over a failed link replaced.

    Buckets that lost their path share the shortest paths that work evenly, and are None when no path works.
    If the planned `load` says that these would be overloaded, they take longer paths as well
    (controller.routing.relief).
    The strategy `shortest` takes the first of these paths within a mesh, `tables` the path by which the
    tables lead a frame now; with `hashed` all buckets move to ports that lead to the destination.
    """
    lost = [bucket for bucket, path in enumerate(planned) if not router.finder.is_alive(path)]
    routes: list[Path | None] = list(planned)
    if lost:
        source, destination = planned[0][0], planned[0][-1]
        search = router.candidates if router.strategy == "tables" else router.shortest_paths
        paths = search(source, destination)
        if router.strategy == "hashed" and paths:
            return router.ecmp_routes(paths)
        if router.strategy == "shortest" and router.in_one_mesh(source, destination):
            paths = paths[:1]
        spread = None
        if load is not None and router.uses_longer_paths(source, destination):
            spread = relieved(router, planned, lost, paths, load())
        for position, bucket in enumerate(lost):
            if spread is not None:
                routes[bucket] = spread[position]
            else:
                routes[bucket] = paths[position % len(paths)] if paths else None
    return tuple(routes)


def relay_in_line(
    finder: PathFinder, node: Node, axis: int, line: Mapping[int, str], value: int
) -> str | None:
    """Return the neighbour through which a mesh node reaches the member of a line that has `value`.

    The member itself while the direct link works; else a third member linked to both; None without such.
    `line` gives the members along dimension `axis` by their value of its address field.
    """
    target = line[value]
    if finder.has_link(node.name, target):
        return target
    coordinate = {member: finder.fabric.node(member).coordinates[axis] for member in line.values()}
    lower = min(node.coordinates[axis], coordinate[target])
    # Relays above either end come first: such a path has no valley, so it costs no VL.
    for relay in sorted(coordinate, key=lambda member: (coordinate[member] < lower, coordinate[member])):
        if finder.has_link(node.name, relay) and finder.has_link(relay, target):
            return relay
    return None


def upper_end(finder: PathFinder, link: str) -> str:
    """Return the end of a link on the higher tier, or its first end when both are on one tier."""
    fabric = finder.fabric
    ends = fabric.link(link).a.node, fabric.link(link).b.node
    return max(ends, key=lambda name: fabric.node(name).tier)


def withdrawn_segments(finder: PathFinder, node: Node, uplinks: Sequence[str]) -> list[Segment]:
    """Return segments for the prefixes that some neighbours of a switch no longer reach.

    Each segment is longer than the planned prefix, so it wins, and its group leaves these neighbours out.
    `uplinks` are the neighbours by which the switch climbs. A switch knows of a neighbour's failed downlink
    once the neighbour has notified it.
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
    """Return the next hop of an address in the segments of `withdrawn_segments`, with their prefix length.

    None if no neighbour has withdrawn a prefix of the address. It makes no segments of other addresses.
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
    """Prefixes that a switch no longer reaches."""

    def longest(self, address: int, bits: int) -> Prefix | None:
        """Return the longest of the prefixes that an address begins with."""
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
    """Yield the neighbours above others that have lost a downlink, and the prefixes that they withdraw."""
    if not finder.failed or not node.tier or not has_table(node, "multipath"):
        return
    fabric, neighbours = finder.fabric, finder.neighbours(node.name)
    for upper, lost in finder.lost_neighbours.items():
        if upper in neighbours:
            key = "withdrawn", upper, frozenset(lost), node.name if node.name in lost else ""
            yield upper, fabric.cached(key, partial(_find_withdrawn, fabric, upper, lost, node.name))


def _find_withdrawn(fabric: Fabric, upper: str, lost: Set[str], but: str) -> _Withdrawn:
    """Return the prefixes below `lost` neighbours of a switch, except `but`, that no other one leads to."""
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
    """Return the next hop of a group that some neighbours have left."""
    left = [name for name in planned if name not in losers]
    return tuple(left) if len(left) > 1 else left[0] if left else None


def _planned_neighbours(
    finder: PathFinder, node: Node, prefix: Prefix, uplinks: Sequence[str]
) -> Sequence[str]:
    """Return the neighbours that lead to a prefix without failures: the nearest below, else the uplinks."""
    fabric, below, bits = finder.fabric, descendants(finder.fabric), finder.fabric.address_plan.bits
    if below[node.name].hops_to_prefix(prefix, bits) is None:
        return uplinks
    lower = [name for name in finder.neighbours(node.name) if fabric.node(name).tier < node.tier]
    hops = {name: count for name in lower if (count := below[name].hops_to_prefix(prefix, bits)) is not None}
    return [name for name, count in hops.items() if count == min(hops.values())] or uplinks
