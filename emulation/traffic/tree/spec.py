# SPDX-License-Identifier: Apache-2.0
"""Descriptions of members of a collective in switches, from which testbeds make agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.work import Work

__all__ = ["MemberParameters", "MemberSpec", "TreePort"]


@final
@dataclass(frozen=True, slots=True)
class TreePort:
    """Attachment of a member to a tree of switches.

    Attributes:
        tree: Number of the tree in frames.
        port: Port of the member's own switch that leads to the first switch of the tree.
        switch: CNA of the first switch of the tree.
        leaves: Leaf number of each rank.
        window: Number of the tree's slots, and so of blocks under way at a time.
        first_block: Number of the first block, above all block numbers that the tree's cells have had before.
    """

    tree: int
    port: int
    switch: int
    leaves: tuple[int, ...]
    window: int
    first_block: int = 1


@final
@dataclass(frozen=True, slots=True)
class MemberParameters:
    """Limits of a block's retransmission timeout, in ps, and of its retransmissions.

    `initial_rto_ps` is used until a round trip is known. After `report_after` retransmissions of a block the
    member reports its tree as lost, after `max_retries` it gives the collective up.
    """

    initial_rto_ps: int = 500_000_000
    min_rto_ps: int = 20_000_000
    max_rto_ps: int = 10_000_000_000
    report_after: int = 4
    max_retries: int = 12


@final
@dataclass(frozen=True, slots=True)
class MemberSpec:
    """Description of a rank of a collective in switches: its CNA, its array, and its port for each tree."""

    rank: int
    address: int
    data: Array
    work: Work
    ports: tuple[TreePort, ...]
    parameters: MemberParameters = field(default_factory=MemberParameters)
