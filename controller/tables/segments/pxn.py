# SPDX-License-Identifier: Apache-2.0
"""PXN: a GPU reaches other rails by the NICs of other GPUs in its high-bandwidth domain (Rail-only, routing).

A GPU on a closed rail sends a frame for another domain to the GPU of its own domain with the destination's
rank. That GPU sends the frame out by its NIC. Only the sender's domain relays frames: no route enters another
domain to be relayed.
"""

from collections.abc import Sequence

from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import Prefix, subprefixes
from controller.tables.segments.programs import has_table
from controller.tables.segments.rails import rail_of
from controller.tables.segments.segment import NextHop, Segment, longest_match
from topologies import Fabric, Node
from topologies.model.computed_once import computed_once

__all__ = ["endpoints_of_closed_rails", "pxn_segments", "relay_segments"]


def pxn_segments(finder: PathFinder, here: Node, own: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return a segment for other domains, by rank, and a segment for the node's own domain.

    The segment for the own domain has no next hop: `own`, the segments without PXN, decide in the domain. The
    result is empty if the program has no PXN, or the node is not one of the `endpoints_of_closed_rails`.
    """
    fabric = finder.fabric
    if not has_table(here, "pxn") or here.name not in endpoints_of_closed_rails(fabric):
        return ()
    plan, bits = fabric.address_plan, fabric.address_plan.bits
    outer, inner = plan.fields[-2].name, plan.fields[-1].name
    domain = Prefix(*plan.prefix(inner, here.address))
    members: list[NextHop] = [None] * (plan.mask(inner) + 1)
    for part in subprefixes(fabric, domain, bits):
        peer = fabric.node_of(part.value)
        if peer is None:
            continue
        nics = [neighbour for neighbour in finder.neighbours(peer.name) if fabric.node(neighbour).level]
        rails = {rail.value for nic in nics if (rail := rail_of(fabric, nic)) is not None}
        if peer.name == here.name:
            next_hop: NextHop = nics[0] if nics else None
        else:
            segment = longest_match(own, peer.address, bits)
            next_hop = segment.next_hop(peer.address) if segment else None
            if isinstance(next_hop, str) and fabric.node(next_hop).level:  # the next hop leaves the domain
                next_hop = None
        for rail in rails:
            members[rail] = next_hop
    beyond = Segment(
        Prefix(*plan.prefix(outer, here.address)), plan.shift(inner), plan.mask(inner), tuple(members)
    )
    return beyond, Segment(domain, 0, 0, (None,))


def relay_segments(finder: PathFinder, here: Node) -> tuple[Segment, ...]:
    """Return the segment of a domain's switch for other domains; the next hop of a rank is its relaying GPU.

    Empty for any other node, and if no GPU below the switch has a NIC on a rail.
    """
    fabric = finder.fabric
    if here.level or not here.is_switch:
        return ()
    plan = fabric.address_plan
    outer, inner = plan.fields[-2].name, plan.fields[-1].name
    members: list[NextHop] = [None] * (plan.mask(inner) + 1)
    address = None
    for neighbour in finder.neighbours(here.name):
        node = fabric.node(neighbour)
        if not node.is_switch:
            address = node.address
            for nic in finder.neighbours(neighbour):
                if fabric.node(nic).level and (rail := rail_of(fabric, nic)) is not None:
                    members[rail.value] = neighbour
    if address is None or not any(members):
        return ()
    prefix = Prefix(*plan.prefix(outer, address))
    return (Segment(prefix, plan.shift(inner), plan.mask(inner), tuple(members)),)


@computed_once
def endpoints_of_closed_rails(fabric: Fabric) -> frozenset[str]:
    """Return the endpoints that have uplinks, all to switches on closed rails."""
    endpoints = []
    for node in fabric.endpoints:
        ups = [neighbour for neighbour in fabric.neighbours(node.name) if fabric.node(neighbour).level]
        rails = [rail_of(fabric, neighbour) for neighbour in ups]
        if rails and all(rail is not None and rail.closed for rail in rails):
            endpoints.append(node.name)
    return frozenset(endpoints)
