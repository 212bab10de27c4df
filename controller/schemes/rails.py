# SPDX-License-Identifier: Apache-2.0
"""Rails: leaves that join GPUs of one rank, with or without spines (Rail-only; rail-optimised networks).

A GPU reaches other rails by way of its neighbours in the high-bandwidth domain (PXN) where no spine does.
"""

from collections.abc import Sequence
from typing import final

from controller.schemes.clos import Clos
from controller.tables.address_entries import Lookups
from controller.tables.segments.pxn import pxn_segments, relay_segments
from controller.tables.segments.rails import rail_of, rail_segments
from controller.tables.segments.segment import Segment, TernarySegment
from controller.tables.segments.upward import highest_neighbours
from topologies import Fabric, Link, Node
from topologies.model.computed_once import computed_once

__all__ = ["Rails"]


@final
class Rails(Clos):
    """Switches look up destinations of their own rail first; GPUs of closed rails, of other domains."""

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return whether a switch is on a rail."""
        return any(rail_of(fabric, node.name) for node in fabric.switches)

    def segments_below(self, here: Node) -> Sequence[Segment]:
        """Return the segments of a switch for the destinations below it; its rail's are in another table."""
        return () if self._rail_segments(here.name) else super().segments_below(here)

    def segments_across(self, here: Node) -> Sequence[Segment]:
        """Return the segments of a switch for destinations beyond its domain or tier."""
        return (*relay_segments(self.finder, here), *super().segments_across(here))

    def withdraws(self, node: str) -> bool:
        """Return whether the tables of a switch follow the routes that its neighbours have withdrawn."""
        return super().withdraws(node) and not self._rail_segments(node)

    def lookups(self, node: str) -> Lookups:
        """Return the segments that a node looks up, in order."""
        plain, here = super().lookups(node), self.fabric.node(node)
        pxn = () if here.is_switch else pxn_segments(self.finder, here, plain.segments)
        return Lookups(plain.segments, self._rail_segments(node), pxn, plain.grouped, plain.hash_shift)

    def chooses_by_hash(self, node: str) -> bool:
        """Return whether a switch has groups that depend only on links next to it, and is on no rail."""
        return super().chooses_by_hash(node) and rail_of(self.fabric, node) is None

    def notified_by(self, node: str, link: Link, subscribers: Sequence[str]) -> Sequence[str]:
        """Return the GPUs of other rails in the domain of a GPU, if both ends of the link are switches.

        Such a link has no end in a domain, and the tables of a closed rail lead no notice to other rails.
        """
        fabric, plan = self.fabric, self.fabric.address_plan
        here, ends = fabric.node(node), (link.a.node, link.b.node)
        rail = rail_of(fabric, ends[0])
        if here.is_switch or rail is None or not rail.closed or not fabric.node(ends[1]).is_switch:
            return ()
        if here.address & plan.mask(plan.fields[-1].name) != rail.value:
            return ()
        domain = here.coordinates[1:]
        return [name for name in subscribers if name != node and fabric.node(name).coordinates[1:] == domain]

    def _rail_segments(self, node: str) -> tuple[TernarySegment, ...]:
        return _rail_segments(self, node)


@computed_once
def _rail_segments(scheme: Rails, node: str) -> tuple[TernarySegment, ...]:
    here = scheme.fabric.node(node)
    if not here.is_switch:
        return ()
    uplinks = highest_neighbours(scheme.finder, here)
    return rail_segments(scheme.finder, here, uplinks, withdraw=scheme.strategy.by_hash)
