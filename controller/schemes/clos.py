# SPDX-License-Identifier: Apache-2.0
"""Tiers of switches that choose among equal next hops by hash (HPN, dual-ToR; spine-leaf networks).

With the strategy `hashed` the source chooses only the egress port of a frame: the source route ends at the
first switch. Every switch then chooses the next hop by hash (HPN, path selection).
"""

from collections.abc import Hashable, Sequence

from controller.forwarding.ecmp import EcmpTable
from controller.paths.finder import PathFinder
from controller.schemes.strategy import Strategy
from controller.schemes.structured import Structured, upper_end
from controller.tables.address_entries import Lookups
from controller.tables.groups import hash_shift
from controller.tables.segments.programs import has_table
from controller.tables.segments.segment import Segment
from controller.tables.segments.upward import highest_neighbours
from controller.tables.segments.withdrawn import withdrawn_segments
from topologies import Fabric, Link
from topologies.model.computed_once import computed_once

__all__ = ["Clos"]


class Clos(Structured):
    """Forwarding scheme of tiers of switches with groups of equal next hops.

    A hash of the addresses and the header field `lb` selects a member of a group.
    """

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return whether the program of any node has groups."""
        return any(has_table(node, "multipath") for node in fabric.nodes)

    @classmethod
    def find_strategy(cls, name: str) -> Strategy:
        """Return the strategy with a name; if it sprays, the source decides only the first hop of a frame."""
        strategy = super().find_strategy(name)
        return strategy.led_by_hash() if strategy.spray else strategy

    @classmethod
    def steers_every_hop(cls, fabric: Fabric) -> bool:
        """Return False: behind the end of a source route, switches choose among ports."""
        return False

    def has_groups(self, node: str) -> bool:
        return has_table(self.fabric.node(node), "multipath")

    def planned_segments(self, node: str) -> tuple[Segment, ...]:
        return _planned_segments(self, node)

    def segments(self, node: str) -> tuple[Segment, ...]:
        """Return the address segments of a node, adjusted to the routes withdrawn by neighbours."""
        return _segments(self, node)

    def withdraws(self, node: str) -> bool:
        """Return whether a node is a switch whose tables react to routes that neighbours withdraw."""
        return self.fabric.node(node).is_switch and self.has_groups(node)

    def hash_shift(self, node: str) -> int:
        """Return the first hash bit used by a switch."""
        return hash_shift(self.fabric, node, self.finder.hashing)

    def lookups(self, node: str) -> Lookups:
        grouped = self.has_groups(node)
        shift = self.hash_shift(node) if grouped else 0
        return Lookups(self.segments(node), grouped=grouped, hash_shift=shift)

    def chooses_by_hash(self, node: str) -> bool:
        """Return whether a node is a switch whose ECMP groups depend only on links near the switch."""
        return self.fabric.node(node).level > 0 and self.has_groups(node) and not self.fabric.optical

    def ecmp_table(self, node: str) -> EcmpTable | None:
        """Return the ECMP groups of a switch; schemes with equal failed links near the switch share them."""
        return _ecmp_table(self, node)

    def new_ecmp_table(self, node: str) -> EcmpTable:
        """Return the ECMP groups of a switch, computed from the failed links near the switch alone."""
        finder = self.finder
        beside = PathFinder(finder.fabric, finder.failed_near(node), finder.hashing, up_first=finder.up_first)
        scheme = type(self)(beside, self.rules, self.strategy)
        segments = scheme.planned_segments(node)
        return EcmpTable(beside, node, Lookups(segments, grouped=True, hash_shift=self.hash_shift(node)))

    # -- failures

    def dependents(self, node: str, link: Link) -> Sequence[str]:
        """Return the neighbours that must take `node` out of their groups when it loses the link.

        Empty if `node` is not the upper end of the link, or the strategy does not choose by hash.
        """
        if not self.strategy.by_hash or upper_end(self.fabric, link) != node:
            return ()
        ends = (link.a.node, link.b.node)
        neighbours = self.fabric.neighbours(node)
        return [name for name in neighbours if self.has_groups(name) and name not in ends]


@computed_once
def _planned_segments(scheme: Clos, node: str) -> tuple[Segment, ...]:
    if not scheme.chooses_by_hash(node):
        return super(Clos, scheme).planned_segments(node)
    known, key = _known_segments(scheme.fabric), _near(scheme, node)
    if key not in known:
        known[key] = super(Clos, scheme).planned_segments(node)
    return known[key]


@computed_once
def _segments(scheme: Clos, node: str) -> tuple[Segment, ...]:
    planned = scheme.planned_segments(node)
    if not scheme.withdraws(node):
        return planned
    here = scheme.fabric.node(node)
    removed = withdrawn_segments(scheme.finder, here, highest_neighbours(scheme.finder, here))
    if not removed:
        return planned
    prefixes = {item.prefix for item in removed}
    below = {item.prefix for item in scheme.segments_below(here)} & prefixes
    local, *others = planned
    return (local, *removed, *(item for item in others if item.prefix not in below))


@computed_once
def _ecmp_table(scheme: Clos, node: str) -> EcmpTable | None:
    if not scheme.chooses_by_hash(node):
        return None
    known, key = _known_tables(scheme.fabric), _near(scheme, node)
    if key not in known:
        known[key] = scheme.new_ecmp_table(node)
    return known[key]


@computed_once
def _known_tables(_: Fabric) -> dict[Hashable, EcmpTable]:
    """Return the cache of groups of switches, by the keys of `_near`."""
    return {}


@computed_once
def _known_segments(_: Fabric) -> dict[Hashable, tuple[Segment, ...]]:
    """Return the cache of segments of switches before withdrawals, by the keys of `_near`."""
    return {}


def _near(scheme: Clos, node: str) -> Hashable:
    """Return the cache key of a switch's segments: scheme, switch, failed links near the switch, hashing."""
    finder = scheme.finder
    return type(scheme), node, finder.failed_near(node), finder.hashing, finder.up_first
