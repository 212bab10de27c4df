# SPDX-License-Identifier: Apache-2.0
"""Numbers of the channels of a fabric.

A hop is one direction of a link, and a channel is one VL of a hop. The VL on which a frame leaves a node
depends on three values only: the VL on which it arrives, and the directions of its arriving and leaving hops
(controller.deadlock.turn_rules). A direction is a group, and up or down. A fabric has few directions; they
are numbered, and these numbers are called ways.
"""

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.turn_rules import CLASS_VLS, ENTRY_VLS, HOST, Direction, RuleSet
from controller.plan.entry import Path
from topologies import Fabric
from topologies.model.columns import columns

__all__ = ["VLS", "Channel", "Hops", "Numbers"]

# Number of VLs of all traffic classes together.
VLS = len(ENTRY_VLS) * CLASS_VLS

Numbers = NDArray[np.int32]


class Channel(NamedTuple):
    """One VL of a link in the direction to node `to`."""

    link: str
    to: str
    vl: int


@final
class Hops:
    """Hops and channels of a fabric by number.

    Hops 2 i and 2 i + 1 are the two directions of link i. The number of a channel is hop * VLS + VL.

    Attributes:
        links: Names of the links.
        nodes: Names of the nodes.
        tails: Index of the node where each hop begins.
        heads: Index of the node where each hop ends.
        directions: The different directions of hops; index 0 is HOST.
        ways: Index in `directions` of the direction of each hop.
        turns: `turns[arriving][vl][leaving]` is the VL on which a frame leaves, or -1 for a forbidden turn;
            `arriving` and `leaving` are indices in `directions`.
    """

    def __init__(self, fabric: Fabric, rules: RuleSet) -> None:
        table = columns(fabric)
        self.links = tuple(link.name for link in fabric.links)
        self.nodes = table.names
        self.tails: Numbers = table.tails
        self.heads: Numbers = table.heads
        self._leaving = table.leaving
        codes, ways = np.unique(rules.order.directions(fabric), return_inverse=True)
        self.ways: Numbers = (ways.reshape(-1) + 1).astype(np.int32)
        self.directions = (HOST, *(Direction(code >> 1, bool(code & 1)) for code in codes.tolist()))
        self.turns = [
            [
                [_or_minus_one(rules.next_vl(arriving, leaves, vl)) for leaves in self.directions]
                for vl in range(VLS)
            ]
            for arriving in self.directions
        ]

    @cached_property
    def number(self) -> dict[tuple[str, str], int]:
        """Number of the hop between two neighbours, by their names.

        Parallel links wait for the same channels, so the first of them represents all.
        """
        names, tails, heads = self.nodes, self.tails.tolist(), self.heads.tolist()
        return {(names[tails[hop]], names[heads[hop]]): hop for hop in self._leaving.tolist()}

    def __len__(self) -> int:
        return len(self.tails)

    @property
    def channels(self) -> int:
        """Number of channels, used or not."""
        return len(self) * VLS

    def channel(self, number: int) -> Channel:
        """Return the channel with a number, by the names of its link and node."""
        hop, vl = divmod(number, VLS)
        return Channel(self.links[hop // 2], self.nodes[self.heads[hop]], vl)

    def channels_along(self, path: Path, entry_vl: int) -> tuple[list[int], str]:
        """Return the channels that a frame takes along a path, and the node of the first forbidden turn.

        The channels end before the forbidden turn. The node is '' if all turns are permitted.
        """
        turns, way, vl = self.turns, 0, entry_vl
        channels = []
        for node, neighbour in pairwise(path):
            hop = self.number[node, neighbour]
            leaves = int(self.ways[hop])
            vl = turns[way][vl][leaves]
            if vl < 0:
                return channels, node
            channels.append(hop * VLS + vl)
            way = leaves
        return channels, ""


def _or_minus_one(vl: int | None) -> int:
    return -1 if vl is None else vl
