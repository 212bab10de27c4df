# SPDX-License-Identifier: Apache-2.0
"""Rails: leaves that join GPUs of equal rank, with or without spines (Rail-only; rail-optimised networks).

Where no spine joins the rails, a GPU reaches another rail through a neighbour in its high-bandwidth domain
(PXN).
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
    """Forwarding scheme of rails.

    A switch looks up destinations on its own rail first; a GPU of a closed rail first looks up destinations
    on other rails (PXN).
    """

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return whether any switch of a fabric is on a rail."""
        return any(rail_of(fabric, node.name) for node in fabric.switches)

    def segments_below(self, here: Node) -> Sequence[Segment]:
        """Return a switch's address segments for nodes below it; empty if table `rail` has them."""
        return () if self._rail_segments(here.name) else super().segments_below(here)

    def segments_across(self, here: Node) -> Sequence[Segment]:
        """Return a switch's address segments for destinations beyond its domain or tier."""
        return (*relay_segments(self.finder, here), *super().segments_across(here))

    def withdraws(self, node: str) -> bool:
        """Return whether the table `segment` of a node reacts to routes that neighbours withdraw."""
        return super().withdraws(node) and not self._rail_segments(node)

    def lookups(self, node: str) -> Lookups:
        """Return the segments that a node looks up, in order."""
        plain, here = super().lookups(node), self.fabric.node(node)
        pxn = () if here.is_switch else pxn_segments(self.finder, here, plain.segments)
        return Lookups(plain.segments, self._rail_segments(node), pxn, plain.grouped, plain.hash_shift)

    def chooses_by_hash(self, node: str) -> bool:
        """Return whether a switch is on no rail and its ECMP groups depend only on links near the switch."""
        return super().chooses_by_hash(node) and rail_of(self.fabric, node) is None

    def notified_by(self, node: str, link: Link, subscribers: Sequence[str]) -> Sequence[str]:
        """Return the subscribers to which a node forwards a received notice: other GPUs of the node's domain.

        Only a GPU on the link's rail forwards notices, if the rail is closed and both ends of the link are
        switches: the tables of these switches lead no notice to another rail.
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
