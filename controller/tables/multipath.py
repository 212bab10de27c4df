# SPDX-License-Identifier: Apache-2.0
"""Groups of equal next hops: their members, and the bits of the hash that select one."""

from collections.abc import Sequence

from controller.plan.entry import Entry, Exact, Hashing
from controller.routing.paths import PathFinder, ocs_dimensions
from controller.tables.segment import EgressPort, NextHop, has_table
from topologies import Fabric

__all__ = ["expand_parallel_links", "group_entry", "group_size", "hash_shift"]

# More values than ways by so many bits, where ways are no power of two: some get one in eight more at most.
_EXTRA_BITS = 3
_MAX_BITS = 9


def group_size(ways: int) -> int:
    """Return the values of the hash that a group distinguishes, a power of two.

    The number of values of any two ways differs by at most 1.
    """
    bits = (ways - 1).bit_length()
    return 1 << (bits if ways == 1 << bits else max(bits, min(bits + _EXTRA_BITS, _MAX_BITS)))


def hash_shift(fabric: Fabric, node: str, hashing: Hashing = "per-tier") -> int:
    """Bits of the hash that the levels of switches below a node have used: each looks at others.

    A core of circuits looks at all of them: its groups reckon with what the levels below have used. With
    `same` every switch does, and those of one level get only what another's choice has left (polarisation).
    """
    if hashing == "identical" or node in ocs_dimensions(fabric):
        return 0
    widths = fabric.cached("group widths", lambda: _group_widths(fabric))
    own = fabric.node(node).level
    return sum(width for height, width in widths.items() if height < own)


def expand_parallel_links(finder: PathFinder, node: str, member: NextHop) -> NextHop:
    """Return a next hop with the egress ports in place of a neighbour behind parallel links.

    Unchanged if the program has no groups: then the first of the links is used.
    """
    fabric = finder.fabric
    if (
        not member
        or not fabric.has_parallel
        or member == node
        or not has_table(fabric.node(node), "multipath")
    ):
        return member
    expanded: list[EgressPort] = []
    for way in (member,) if isinstance(member, str) else member:
        ports = finder.ports_to(node, way) if isinstance(way, str) else ()
        expanded += ports if len(ports) > 1 else (way,)
    return tuple(expanded) if len(expanded) > 1 else member


def group_entry(finder: PathFinder, node: str, group: int, ways: Sequence[EgressPort]) -> Entry:
    """Return the entry of the table multipath for one group of a node, a member for each way.

    The selector takes the value of the hash modulo the members.
    """
    ports = [finder.port_to(node, way) if isinstance(way, str) else way for way in ways]
    return Entry(
        "multipath",
        (("group", Exact(group)),),
        "set_way",
        members=tuple((("port", port),) for port in ports),
    )


def _group_widths(fabric: Fabric) -> dict[int, int]:
    """Return, by level, the bits that its widest group of uplinks uses."""
    widths: dict[int, int] = {}
    for node in fabric.nodes:
        if node.tier:
            ups = sum(fabric.node(neighbour).tier > node.tier for neighbour in fabric.neighbours(node.name))
            width = group_size(ups).bit_length() - 1 if ups else 0
            widths[node.level] = max(width, widths.get(node.level, 0))
    return widths
