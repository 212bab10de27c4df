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
    """Bytes that ranks have to send to each other, without retransmissions, as a sparse matrix.

    Rank `sources[n]` sends `bytes[n]` to rank `targets[n]`. Each pair that sends occurs once, ordered by
    source and target. `groups` are the ranks at which another group begins, such as a domain or a board.
    """

    ranks: int
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    bytes: NDArray[np.float64]
    groups: tuple[int, ...]

    def __str__(self) -> str:
        """Return a text: the number of pairs that send, and the share of bytes inside the groups."""
        text = f"{len(self.bytes):,} of {self.ranks * (self.ranks - 1):,} ordered pairs send data"
        if not self.groups or not len(self.bytes):
            return text
        ends = (np.searchsorted(self.groups, ranks, side="right") for ranks in (self.sources, self.targets))
        inside = self.bytes[np.equal(*ends)].sum() / self.bytes.sum()
        return f"{text}; {100 * inside:.1f} % of the bytes stay inside the groups"

    def cells(self, side: int) -> Matrix:
        """Return a coarser matrix: means over cells of `side` by `side` ranks, with sources as rows."""
        count = -(-self.ranks // side)
        sums = np.zeros((count, count))
        np.add.at(sums, (self.sources // side, self.targets // side), self.bytes)
        sizes = np.diff(np.append(np.arange(0, self.ranks, side), self.ranks))
        return sums / np.outer(sizes, sizes)


def traffic_matrix(schedules: Sequence[Schedule], fabric: Fabric, members: Sequence[str]) -> TrafficMatrix:
    """Return the traffic matrix of several schedules together.

    `members` has the nodes of the ranks of the first schedule, then of the second schedule, and so on. A
    group consists of consecutive members whose coordinates differ in the first dimension alone.
    """
    first = np.cumsum([0, *(schedule.ranks for schedule in schedules)]).tolist()
    sends = np.array(
        [
            (transfer.source + before, transfer.target + before, transfer.length)
            for before, schedule in zip(first, schedules, strict=False)
            for transfer in schedule.transfers
            if transfer.length
        ],
        np.int64,
    ).reshape(-1, 3)
    pairs, number = np.unique(sends[:, 0] * len(members) + sends[:, 1], return_inverse=True)
    sent = np.bincount(number, sends[:, 2] * ELEMENT_BYTES, len(pairs)).astype(np.float64)
    places = [fabric.node(name).coordinates[1:] for name in members]
    groups = tuple(rank for rank in range(1, len(places)) if places[rank] != places[rank - 1])
    return TrafficMatrix(len(members), pairs // len(members), pairs % len(members), sent, groups)
