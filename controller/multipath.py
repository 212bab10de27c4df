# SPDX-License-Identifier: Apache-2.0
"""Several ways to one place: the member of a group that a switch takes, as p4/control/multipath.p4 does."""

import zlib
from collections.abc import Sequence

from controller.plan import Entry, Exact
from topologies import Fabric

__all__ = ["group_entries", "group_size", "hash_shift", "taken"]

# More members than ways by so many bits, where ways are no power of two: some get one in eight more at most.
# Half the largest switch, 128 ways, have 128 members; all groups of a switch together 1,024 at most.
_EXTRA_BITS = 3
_MAX_BITS = 9


def group_size(ways: int) -> int:
    """Members of a group, a power of two; each of the ways has as many as the others, or one more."""
    bits = (ways - 1).bit_length()
    return 1 << (bits if ways == 1 << bits else max(bits, min(bits + _EXTRA_BITS, _MAX_BITS)))


def hash_shift(fabric: Fabric, node: str) -> int:
    """Bits of the hash that the levels of switches below a node have used: each looks at others."""
    widths = fabric.once("group widths", lambda: _widths(fabric))
    own = fabric.node(node).level
    return sum(width for height, width in widths.items() if height < own)


def taken(
    fabric: Fabric, node: str, ways: Sequence[str], frame: tuple[int, int, int], lb_mode: int = 0
) -> str:
    """The way of a frame of that (scna, dcna, lb) among those of a node."""
    number = frame[2] if lb_mode else zlib.crc32(_packed(frame)) & 0xFFFF
    return ways[(number >> hash_shift(fabric, node) & group_size(len(ways)) - 1) % len(ways)]


def group_entries(fabric: Fabric, node: str, base: int, ways: Sequence[str]) -> list[Entry]:
    """Entries of the table multipath for one group of a node."""
    return [
        Entry(
            "multipath",
            (("index", Exact(base + number)),),
            "set_way",
            (("port", fabric.port_to(node, ways[number % len(ways)])),),
        )
        for number in range(group_size(len(ways)))
    ]


def _packed(frame: tuple[int, int, int]) -> bytes:
    scna, dcna, lb = frame
    return scna.to_bytes(2) + dcna.to_bytes(2) + lb.to_bytes(1)


def _widths(fabric: Fabric) -> dict[int, int]:
    """By level, the bits that its widest group of ways up takes."""
    found: dict[int, int] = {}
    for node in fabric.nodes:
        if node.tier:
            ups = sum(fabric.node(far).tier > node.tier for far in fabric.neighbours(node.name))
            width = group_size(ups).bit_length() - 1 if ups else 0
            found[node.level] = max(width, found.get(node.level, 0))
    return found
