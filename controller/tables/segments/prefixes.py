# SPDX-License-Identifier: Apache-2.0
"""Compute the address prefixes below each node, and the prefixes within reach of each node.

Structured addresses follow physical position (UB-Mesh, structured addressing), so a few prefixes cover the
endpoints below a switch. This module computes the prefixes from the fabric.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, final

from topologies import Fabric
from topologies.model.computed_once import computed_for_any_circuits

__all__ = [
    "Prefix",
    "PrefixHops",
    "address_classes",
    "descendants",
    "field_ends",
    "first_and_last",
    "reachable_prefixes",
    "subprefixes",
]


class Prefix(NamedTuple):
    """Leading `length` bits of an address; the bits after them are 0 in `value`."""

    value: int
    length: int

    def contains(self, address: int, bits: int) -> bool:
        """Return whether an address of `bits` bits begins with the prefix."""
        return (address ^ self.value) >> (bits - self.length) == 0


@final
@dataclass(frozen=True, slots=True)
class PrefixHops:
    """Prefixes that a node leads to, with the number of hops to each; 0 from an endpoint to itself."""

    hops: Mapping[Prefix, int]
    _lengths: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lengths", tuple({prefix.length for prefix in self.hops}))

    def hops_to(self, address: int, bits: int) -> int | None:
        """Return the number of hops to a prefix containing an address; None without such a prefix."""
        return self.hops_to_prefix(Prefix(address, bits), bits)

    def hops_to_prefix(self, segment: Prefix, bits: int) -> int | None:
        """Return the fewest hops to a prefix containing a whole segment; None without such a prefix."""
        fewest: int | None = None
        for length in self._lengths:
            if length <= segment.length:
                value = segment.value >> (bits - length) << (bits - length)
                hops = self.hops.get(Prefix(value, length))
                if hops is not None and (fewest is None or hops < fewest):
                    fewest = hops
        return fewest


@computed_for_any_circuits
def address_classes(fabric: Fabric) -> tuple[int, ...]:
    """Return the endpoints' values of the first address field, in ascending order."""
    shift = fabric.address_plan.shift(fabric.address_plan.fields[0].name)
    return tuple(sorted({node.address >> shift for node in fabric.endpoints}))


def field_ends(fabric: Fabric) -> list[int]:
    """Return the number of leading address bits up to the end of each field, in field order."""
    plan = fabric.address_plan
    return [plan.bits - plan.shift(part.name) for part in plan.fields]


def first_and_last(fabric: Fabric, segment: Prefix) -> tuple[Prefix, Prefix]:
    """Return the addresses of the first and the last endpoint of a segment."""
    members = _direct_subprefixes(fabric)
    first = last = segment
    while first.length < fabric.address_plan.bits:
        first, last = min(members[first]), max(members[last])
    return first, last


def subprefixes(fabric: Fabric, segment: Prefix, length: int) -> list[Prefix]:
    """Return the parts of a segment, `length` bits long, with at least one endpoint, in ascending order.

    `length` is one of the `field_ends`.
    """
    members = _direct_subprefixes(fabric)
    segments = [segment]
    while segments and segments[0].length < length:
        segments = [part for outer in segments for part in members[outer]]
    return sorted(segments)


@computed_for_any_circuits
def descendants(fabric: Fabric) -> Mapping[str, PrefixHops]:
    """Return the prefixes below each node; an endpoint is below itself."""
    plan, ends = fabric.address_plan, field_ends(fabric)
    whole = _direct_subprefixes(fabric)
    below: dict[str, PrefixHops] = {}
    known: dict[tuple[str, ...], PrefixHops] = {}  # by the neighbours below
    for node in sorted(fabric.nodes, key=lambda node: node.tier):
        if not node.is_switch:
            below[node.name] = PrefixHops({Prefix(node.address, plan.bits): 0})
            continue
        lower = tuple([name for name in fabric.neighbours(node.name) if fabric.node(name).tier < node.tier])
        if lower not in known:
            known[lower] = PrefixHops(_aggregate(_one_hop_more(below, lower), ends, whole))
        below[node.name] = known[lower]
    return below


@computed_for_any_circuits
def reachable_prefixes(fabric: Fabric) -> Mapping[str, PrefixHops]:
    """Return the prefixes reached from each node by climbing first and then descending."""
    reach = descendants(fabric)
    reachable: dict[str, PrefixHops] = {}
    known: dict[tuple[str, ...], dict[Prefix, int]] = {}  # by the neighbours above
    for node in sorted(fabric.nodes, key=lambda node: -node.tier):
        upper = tuple([name for name in fabric.neighbours(node.name) if fabric.node(name).tier > node.tier])
        if upper not in known:
            known[upper] = _one_hop_more(reachable, upper)
        below, climbing = reach[node.name].hops, known[upper]
        hops = {**below, **climbing}
        hops |= {prefix: min(down, hops[prefix]) for prefix, down in below.items()}
        reachable[node.name] = PrefixHops(hops)
    return reachable


def _one_hop_more(reach: Mapping[str, PrefixHops], nodes: Sequence[str]) -> dict[Prefix, int]:
    """Return the fewest hops to each prefix over any of these next hops; `reach` is by node."""
    hops: dict[Prefix, int] = {}
    for node in nodes:
        for prefix, more in reach[node].hops.items():
            hops[prefix] = min(more + 1, hops.get(prefix, more + 1))
    return hops


@computed_for_any_circuits
def _direct_subprefixes(fabric: Fabric) -> Mapping[Prefix, frozenset[Prefix]]:
    """Return the parts of each segment that have endpoints and are one field longer than the segment."""
    ends = field_ends(fabric)
    members: dict[Prefix, set[Prefix]] = {}
    bits = fabric.address_plan.bits
    for node in fabric.endpoints:
        inner = Prefix(node.address, bits)
        for length in reversed(ends[:-1]):
            outer = Prefix(node.address >> (bits - length) << (bits - length), length)
            members.setdefault(outer, set()).add(inner)
            inner = outer
    return {outer: frozenset(inner) for outer, inner in members.items()}


def _aggregate(
    hops: dict[Prefix, int], ends: list[int], whole: Mapping[Prefix, frozenset[Prefix]]
) -> dict[Prefix, int]:
    """Replace the parts of a segment by the segment if all are below the node, equally many hops down.

    No segment becomes as wide as an address class: destinations not below the node need the default route.
    """
    bits = ends[-1]
    for outer_length, inner_length in reversed(list(pairwise(ends))):
        if outer_length <= ends[0]:
            break
        outers = {
            Prefix(prefix.value >> (bits - outer_length) << (bits - outer_length), outer_length)
            for prefix in hops
            if prefix.length == inner_length
        }
        for outer in outers:
            parts = whole[outer]
            if all(part in hops for part in parts) and len({hops[part] for part in parts}) == 1:
                hops[outer] = hops[next(iter(parts))]
                for part in parts:
                    del hops[part]
    return hops
