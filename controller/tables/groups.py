# SPDX-License-Identifier: Apache-2.0
"""Groups of equal next hops: their members, and the bits of the hash that select one."""

from collections.abc import Sequence

from controller.paths.finder import PathFinder
from controller.plan.entry import Entry, Exact, Hashing
from controller.tables.actions import SET_EGRESS_PORT
from controller.tables.segments.segment import EgressPort, NextHop
from topologies import Fabric, Node
from topologies.model.computed_once import computed_once

__all__ = ["expand_parallel_links", "group_entry", "group_size", "hash_shift", "lb_selects_path"]

# Extra hash bits of a group whose size is no power of two. Each member then gets at least 8 hash values, so
# its share exceeds the share of another member by an eighth at most.
_EXTRA_BITS = 3
# Number of bits up to which a group gets extra bits; the shares of a larger group may differ more.
_MAX_BITS = 9
_LB_BITS = 8


def group_size(ways: int) -> int:
    """Return the number of hash values for a group of `ways` members, a power of two.

    The values are spread evenly: any two members' numbers of values differ by at most 1.
    """
    bits = (ways - 1).bit_length()
    return 1 << (bits if ways == 1 << bits else max(bits, min(bits + _EXTRA_BITS, _MAX_BITS)))


def hash_shift(fabric: Fabric, node: str, hashing: Hashing = "per-tier") -> int:
    """Return the first hash bit used by a switch.

    With `per-tier`, this bit follows the bits that lower levels of switches use. With `identical`, all
    switches look at the bits from 0 on, so a choice depends on the choices at lower levels (polarisation).
    """
    if hashing == "identical":
        return 0
    own = fabric.node(node).level
    return sum(width for level, width in _group_widths(fabric).items() if level < own)


def lb_selects_path(fabric: Fabric, hashing: Hashing = "per-tier") -> bool:
    """Return whether the eight bits of the header field lb can select every path without a hash.

    This holds if each level of switches looks at bits of its own, and all of these bits are bits of lb. It
    does not hold with optical switches, or if endpoints have several uplinks, because lb also selects the
    uplink.
    """
    uplinks = max((_uplinks(fabric, node) for node in fabric.endpoints), default=0)
    by_level = hashing == "per-tier" and not fabric.optical
    return by_level and uplinks == 1 and sum(_group_widths(fabric).values()) <= _LB_BITS


def expand_parallel_links(finder: PathFinder, node: str, member: NextHop) -> NextHop:
    """Return a next hop with each neighbour behind parallel links replaced by the egress ports to it.

    Only for programs that have groups; other programs use the first of the parallel links.
    """
    if not member or not finder.fabric.has_parallel or member == node:
        return member
    expanded: list[EgressPort] = []
    for neighbour in (member,) if isinstance(member, str) else member:
        ports = finder.ports_to(node, neighbour) if isinstance(neighbour, str) else ()
        expanded += ports if len(ports) > 1 else (neighbour,)
    return tuple(expanded) if len(expanded) > 1 else member


def group_entry(finder: PathFinder, node: str, group: int, members: Sequence[EgressPort]) -> Entry:
    """Return the entry of the table multipath for one group of a node.

    The action selector takes the hash value modulo the number of members as the index of a member.
    """
    ports = [finder.port_to(node, member) if isinstance(member, str) else member for member in members]
    return SET_EGRESS_PORT.group((("group", Exact(group)),), *ports)


@computed_once
def _group_widths(fabric: Fabric) -> dict[int, int]:
    """Return the number of hash bits that the widest group of uplinks of each level uses, by level."""
    widths: dict[int, int] = {}
    for node in fabric.switches:
        ups = _uplinks(fabric, node)
        width = group_size(ups).bit_length() - 1 if ups else 0
        widths[node.level] = max(width, widths.get(node.level, 0))
    return widths


def _uplinks(fabric: Fabric, node: Node) -> int:
    """Return the number of a node's neighbours on higher tiers."""
    return sum(fabric.node(neighbour).tier > node.tier for neighbour in fabric.neighbours(node.name))
