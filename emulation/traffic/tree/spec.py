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
    """A member's place in a tree.

    Attributes:
        tree: Number of the tree in frames.
        port: Port of the member's own switch that leads to the first switch of the tree.
        switch: CNA of that switch.
        leaves: Leaf number of each rank.
        window: Slots of the tree.
        first_block: Number of its first block, above all that its cells have had before.
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
    """Timeouts of a block in ps, the first before a round trip is known, and repetitions of a block.

    After `report_after` repetitions of a block the member reports its tree as lost, after `max_retries` it
    gives the collective up.
    """

    initial_rto_ps: int = 500_000_000
    min_rto_ps: int = 20_000_000
    max_rto_ps: int = 10_000_000_000
    report_after: int = 4
    max_retries: int = 12


@final
@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A rank of a collective in switches: its CNA, its array, and its place in each tree."""

    rank: int
    address: int
    data: Array
    work: Work
    ports: tuple[TreePort, ...]
    parameters: MemberParameters = field(default_factory=MemberParameters)
