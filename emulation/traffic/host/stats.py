# SPDX-License-Identifier: Apache-2.0
"""What an agent has to say about its run."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

from emulation.traffic.schedule.data import Array

__all__ = ["NOTHING", "AgentStats", "Ended", "Failure", "Outcome"]


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

    def __add__(self, other: "AgentStats") -> "AgentStats":
        """Those of two agents that were on one node, one after the other."""
        junk = Counter(self.junk) + Counter(other.junk)
        return AgentStats(
            sent=self.sent + other.sent,
            retransmitted=self.retransmitted + other.retransmitted,
            received=self.received + other.received,
            duplicates=self.duplicates + other.duplicates,
            acks_sent=self.acks_sent + other.acks_sent,
            acks_received=self.acks_received + other.acks_received,
            rtt_ps=max(self.rtt_ps, other.rtt_ps),
            junk=dict(sorted(junk.items())),
        )


NOTHING = AgentStats(0, 0, 0, 0, 0, 0, 0, {})
"""Of a node that has had no agent."""


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


@final
@dataclass(frozen=True, slots=True)
class Ended:
    """What became of an agent that is no more."""

    result: Array
    stats: AgentStats
    finished_ps: int | None
    failed: Failure | None
