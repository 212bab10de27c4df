# SPDX-License-Identifier: Apache-2.0
"""Statistics, outcome and failure of an agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, final

from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.reduction import ReductionStats
from emulation.traffic.schedule.data import Array

__all__ = ["NOTHING", "AgentStats", "Ended", "Failure", "LostBlock", "Outcome"]


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """A connection given up by `rank`; `psn` is the oldest frame not acknowledged by `peer`."""

    rank: int
    peer: int
    psn: int
    at_ps: int

    def __str__(self) -> str:
        at = f"{self.at_ps / 10**6:g} µs"
        return f"rank {self.rank} gave up on rank {self.peer} at {at}: PSN {self.psn} unacknowledged"


@final
@dataclass(frozen=True, slots=True)
class LostBlock:
    """A block whose result did not come, so that its member gave the collective up."""

    rank: int
    tree: int
    block: int
    at_ps: int

    def __str__(self) -> str:
        return f"rank {self.rank} has no result of block {self.block} of tree {self.tree} at {self.at_ps} ps"


@final
@dataclass(frozen=True, slots=True)
class AgentStats:
    """Counts of an agent's frames; `rtt_ps` is the largest smoothed round trip of its connections, or 0.

    `marked` counts data frames that arrived with a congestion mark, duplicates included. `trimmed` counts
    sent data frames that arrived without their payload. `junk` counts dropped frames by reason. `reduction`
    is None without a model of the NPU's reducer.
    """

    sent: int
    retransmitted: int
    received: int
    duplicates: int
    acks_sent: int
    acks_received: int
    rtt_ps: int
    junk: Mapping[str, int]
    marked: int = 0
    trimmed: int = 0
    reduction: ReductionStats | None = None

    def __add__(self, other: AgentStats) -> AgentStats:
        """Add the counts of two successive agents of a node."""
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
            marked=self.marked + other.marked,
            trimmed=self.trimmed + other.trimmed,
            reduction=_sum(self.reduction, other.reduction),
        )


def _sum(first: ReductionStats | None, second: ReductionStats | None) -> ReductionStats | None:
    return first + second if first is not None and second is not None else first or second


NOTHING = AgentStats(0, 0, 0, 0, 0, 0, 0, {})
"""Statistics of a node without an agent."""


class Outcome(Protocol):
    """Outcome of an agent: its array, the time at which the array was final, and its failure, if any."""

    @property
    def result(self) -> Array:
        """The agent's array; it is final once `finished_ps` is set."""
        ...

    @property
    def stats(self) -> AgentStats:
        """Counts of the agent."""
        ...

    @property
    def finished_ps(self) -> int | None:
        """Time in ps at which the array became final; None before."""
        ...

    @property
    def failed(self) -> Failure | LostBlock | None:
        """Failure of the agent, if any."""
        ...

    @property
    def times(self) -> Sequence[tuple[int, int]]:
        """(opening time, end time) of each task of a graph, in ps; -1 for a time still to come."""
        ...

    @property
    def log(self) -> Sequence[IterationReport]:
        """Reports of the ended iterations; empty without iterations."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Ended:
    """Copy of the outcome of an agent that no longer exists, or runs in another process."""

    result: Array
    stats: AgentStats
    finished_ps: int | None
    failed: Failure | LostBlock | None
    times: Sequence[tuple[int, int]] = ()
    log: Sequence[IterationReport] = ()
