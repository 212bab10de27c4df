# SPDX-License-Identifier: Apache-2.0
"""Traffic matrix of schedules: bytes that each rank has to send to each other rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from emulation.traffic.schedule.schedule import Schedule
from harness.scenario.schema import ELEMENT_BYTES
from topologies import Fabric

__all__ = ["Matrix", "TrafficMatrix", "traffic_matrix"]

Matrix = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class TrafficMatrix:
    """Bytes that rank i has to send to rank j, `bytes[i, j]`, without retransmissions.

    `groups` are the ranks at which another domain or board begins.
    """

    bytes: Matrix
    groups: tuple[int, ...]

    def __str__(self) -> str:
        """Return the number of pairs that send, and the share of the bytes that stays inside the groups."""
        sent, ranks = self.bytes, len(self.bytes)
        group = np.searchsorted(np.array(self.groups), np.arange(ranks), side="right")
        text = f"{np.count_nonzero(sent):,} of {ranks * (ranks - 1):,} ordered pairs send anything"
        if not self.groups or not sent.any():
            return text
        inside = sent[group[:, None] == group[None, :]].sum() / sent.sum()
        return f"{text}; {100 * inside:.1f} % of the bytes stay inside the groups"


def traffic_matrix(schedules: Sequence[Schedule], fabric: Fabric, members: Sequence[str]) -> TrafficMatrix:
    """Return the traffic of schedules, whose ranks follow each other and are `members` in order.

    Groups are members that differ in the first dimension alone.
    """
    matrix = np.zeros((len(members), len(members)))
    first = 0
    for schedule in schedules:
        ends = [(transfer.source + first, transfer.target + first) for transfer in schedule.transfers]
        if ends:
            lengths = np.array([transfer.length for transfer in schedule.transfers], dtype=np.float64)
            np.add.at(matrix, tuple(np.array(ends).T), lengths * ELEMENT_BYTES)
        first += schedule.ranks
    places = [fabric.node(name).coordinates[1:] for name in members]
    groups = (rank for rank in range(1, len(places)) if places[rank] != places[rank - 1])
    return TrafficMatrix(matrix, tuple(groups))
