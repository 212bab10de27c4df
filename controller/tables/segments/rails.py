# SPDX-License-Identifier: Apache-2.0
"""Rails: switches below which lie endpoints of one rank, a few of each domain (Rail-only, §4).

Their addresses share the last field and no prefix, so the array of such a switch counts the fields before it.
A rail is closed when no way up leads to another rank: what has one is foreign there. Places of more
dimensions than rank and domain, as those of HPN's segments, are told apart by prefix: no switch is on a rail.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import descendants, reachable_prefixes
from controller.tables.segments.programs import has_table
from controller.tables.segments.segment import NextHop, TernarySegment, equal_cost_group
from controller.tables.segments.withdrawn import withdrawn_next_hop, withdrawn_segments
from topologies import Fabric, Node
from topologies.model.computed_once import computed_once

__all__ = ["Rail", "rail_of", "rail_segments"]

# Coordinates of an endpoint on a rail: rank and domain.
_DIMENSIONS = 2


@final
@dataclass(frozen=True, slots=True)
class Rail:
    """A rail: the value of the last address field that its endpoints have.

    `closed`: no path up leads from its switches to endpoints of another rail.
    """

    value: int
    closed: bool


@computed_once
def rail_of(fabric: Fabric, switch: str) -> Rail | None:
    """Return the rail of a switch; None if it is on no rail."""
    node, bits = fabric.node(switch), fabric.address_plan.bits
    if not has_table(node, "rail") or not node.level or len(fabric.dims) > _DIMENSIONS:
        return None
    last = fabric.address_plan.mask(fabric.address_plan.fields[-1].name)
    under = descendants(fabric)[switch].hops
    values = {prefix.value & last for prefix in under}
    if len(values) != 1 or any(prefix.length < bits for prefix in under):
        return None
    over = reachable_prefixes(fabric)[switch].hops
    closed = all(prefix.length == bits and prefix.value & last in values for prefix in over)
    return Rail(values.pop(), closed)


def rail_segments(
    finder: PathFinder, here: Node, uplinks: Sequence[str], *, withdraw: bool
) -> tuple[TernarySegment, ...]:
    """Return the rows of the table rail of a switch, highest priority first; empty if it is on no rail.

    With `withdraw` its groups leave out the uplinks that have told that they no longer reach a destination.
    """
    fabric = finder.fabric
    rail = rail_of(fabric, here.name)
    if rail is None:
        return ()
    plan = fabric.address_plan
    field = plan.fields[-2].name
    shift, mask, last = plan.shift(field), plan.mask(field), plan.mask(plan.fields[-1].name)
    ends = _by_rank(fabric, last)[rail.value]
    nearest = _nearest(finder, here)
    up = equal_cost_group(uplinks)
    array: list[NextHop] = [None] * (mask + 1)
    under = descendants(fabric)[here.name]
    withdrawn = withdraw and bool(withdrawn_segments(finder, here, uplinks))
    for address in ends:
        neighbours = nearest.get(address, [])
        value = address >> shift & mask
        if neighbours:
            array[value] = neighbours[value % len(neighbours)]
        elif under.hops_to(address, plan.bits) is None:
            rest = withdrawn_next_hop(finder, here, address, uplinks) if withdrawn else None
            array[value] = up if rest is None else rest[1]
    every = (1 << plan.bits) - 1 & ~(mask << shift)
    own = TernarySegment(ends[0] & every, every, shift, mask, tuple(array))
    foreign = TernarySegment(ends[0] & every & ~last, every & ~last)
    return (own, foreign) if rail.closed else (own,)


def _nearest(finder: PathFinder, here: Node) -> dict[int, list[str]]:
    """Return, by address of the endpoints below, the neighbours with the shortest way down."""
    fabric = finder.fabric
    hops: dict[int, tuple[int, list[str]]] = {}
    for neighbour in finder.neighbours(here.name):
        if fabric.node(neighbour).tier < here.tier:
            for prefix, count in descendants(fabric)[neighbour].hops.items():
                fewest, neighbours = hops.get(prefix.value, (count, []))
                if count < fewest:
                    neighbours = []
                if count <= fewest:
                    hops[prefix.value] = count, [*neighbours, neighbour]
    return {address: neighbours for address, (_, neighbours) in hops.items()}


@computed_once
def _by_rank(fabric: Fabric, last: int) -> dict[int, list[int]]:
    """Return the addresses of endpoints by their last field, whose bits are set in `last`."""
    addresses: dict[int, list[int]] = {}
    for node in fabric.endpoints:
        addresses.setdefault(node.address & last, []).append(node.address)
    return addresses
