# SPDX-License-Identifier: Apache-2.0
"""Least time of a collective that switches carry out."""

from __future__ import annotations

from collections.abc import Mapping

from controller.trees.tree import SwitchTree
from topologies import Fabric

__all__ = ["full_rate_slots", "round_trip_ps", "tree_bound_ps"]


def tree_bound_ps(
    fabric: Fabric,
    tree: SwitchTree,
    blocks: Mapping[tuple[int | None, int | None], int],
    short_bytes: int,
    filled_bytes: int,
) -> int:
    """Return a lower bound of the time in which a tree carries blocks, in ps.

    `blocks` has their number by source and owner, leaves or None for all leaves. Every link carries a frame
    for each block up and down. It has `filled_bytes` where it comes from a source, or leads to an owner, and
    else `short_bytes`. The last block goes up and down the longest way.
    """
    total = sum(blocks.values())
    busiest = 0.0
    for child in tree.parents:
        first, last = tree.spans[child]
        rate = tree.links[child].rate_bps
        for end in (0, 1):
            filled = sum(
                count
                for ends, count in blocks.items()
                if (leaf := ends[end]) is None or first <= leaf <= last
            )
            busy = filled * filled_bytes + (total - filled) * short_bytes
            busiest = max(busiest, 8 * busy * 10**12 / rate)
    return round(busiest) + round_trip_ps(fabric, tree)


def round_trip_ps(fabric: Fabric, tree: SwitchTree, frame_bytes: int = 0) -> int:
    """Return the time of a frame up the longest way of a tree and down again, without other frames, in ps.

    Switches send a frame on once they have all of it.
    """
    longest = 0
    for leaf in tree.leaves:
        links = [tree.links[name] for name in tree.path_up(leaf)[:-1]]
        host = fabric.host_lanes * fabric.lane_rate_bps
        once = fabric.host_delay_ps + 8 * frame_bytes * 10**12 // host
        once += sum(link.delay_ps + 8 * frame_bytes * 10**12 // link.rate_bps for link in links)
        longest = max(longest, 2 * once)
    return longest


def full_rate_slots(fabric: Fabric, tree: SwitchTree, frame_bytes: int) -> float:
    """Return the slots with which a tree sends at the rate of its slowest link: round trip times rate."""
    return round_trip_ps(fabric, tree, frame_bytes) * _slowest(tree) / 10**12 / (8 * frame_bytes)


def _slowest(tree: SwitchTree) -> int:
    return min(link.rate_bps for link in tree.links.values())
