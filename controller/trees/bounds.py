# SPDX-License-Identifier: Apache-2.0
"""Lower bound of the time of a collective whose values the switches combine."""

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

    Every link carries one frame for each block upwards and one downwards. The last block then travels up and
    down the longest path of the tree.

    Args:
        fabric: The fabric of the tree.
        tree: The tree.
        blocks: Number of blocks by (source, owner): numbers of leaves, or None for all leaves.
        short_bytes: Size of a frame without values.
        filled_bytes: Size of a frame with values: below the block's source on the way up, and below its
            owner on the way down.
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
    """Return the time in ps of a frame up the longest path of an idle tree and down again.

    Switches store a whole frame before they forward it.
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
    """Return the number of slots that keep a tree's slowest link busy: rate times round trip, in frames."""
    return round_trip_ps(fabric, tree, frame_bytes) * _slowest(tree) / 10**12 / (8 * frame_bytes)


def _slowest(tree: SwitchTree) -> int:
    return min(link.rate_bps for link in tree.links.values())
