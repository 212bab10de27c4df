# SPDX-License-Identifier: Apache-2.0
"""Rails: all endpoints below a switch on a rail have one rank; their domains differ (Rail-only, §4).

The addresses of these endpoints share the last field, the rank, but no prefix. The table `rail` therefore
matches all fields except the domain, and the domain indexes the array of next hops. A rail is closed if no
path up leads to another rank; its switches drop frames for other ranks. If endpoints have coordinates besides
rank and domain, such as HPN's segment, tables match prefixes and no switch is on a rail.
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

# Number of coordinates of an endpoint on a rail: rank and domain.
_DIMENSIONS = 2


@final
@dataclass(frozen=True, slots=True)
class Rail:
    """A rail: its endpoints have `value` in the last address field, the rank.

    `closed`: no path up leads from the rail's switches to endpoints of another rail.
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
    """Return the rows of a switch's table `rail`, highest priority first; empty if it is on no rail.

    With `withdraw`, the group for a destination leaves out the uplinks that have withdrawn its route.
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
    """Return, by address of each endpoint below a switch, the neighbours with the fewest hops down to it."""
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
    """Return the endpoints' addresses by rank, the last field of an address; `last` is the field's mask."""
    addresses: dict[int, list[int]] = {}
    for node in fabric.endpoints:
        addresses.setdefault(node.address & last, []).append(node.address)
    return addresses
