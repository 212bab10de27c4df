# SPDX-License-Identifier: Apache-2.0
"""What an agent has to say about its run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

from emulation.traffic.data import Array

__all__ = ["AgentStats", "Failure", "Outcome"]


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """A connection given up: `psn` is the oldest frame that `peer` never acknowledged."""

    rank: int
    peer: int
    psn: int
    at_ps: int

    def __str__(self) -> str:
        return (
            f"rank {self.rank} gave up on rank {self.peer} at {self.at_ps} ps: PSN {self.psn} unacknowledged"
        )


@final
@dataclass(frozen=True, slots=True)
class AgentStats:
    """Counts of one agent; rtt_ps is the largest smoothed round trip of its connections, 0 without sample."""

    sent: int
    retransmitted: int
    received: int
    duplicates: int
    acks_sent: int
    acks_received: int
    rtt_ps: int
    junk: Mapping[str, int]


class Outcome(Protocol):
    """What became of an agent: its array, when that was right, and why it gave up, if it did."""

    @property
    def result(self) -> Array: ...
    @property
    def stats(self) -> AgentStats: ...
    @property
    def finished_ps(self) -> int | None: ...
    @property
    def failed(self) -> Failure | None: ...
