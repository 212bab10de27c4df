# SPDX-License-Identifier: Apache-2.0
"""Descriptions of agents, for both testbeds to make the agents in C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from emulation.traffic.host.iterations import IterationProfile
from emulation.traffic.host.rank_cache import RankCache
from emulation.traffic.host.reduction import Reduction
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.schedule import SlicedTraffic

__all__ = ["AgentSpec", "agent_specs"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class AgentSpec:
    """Description of one rank's agent in a collective, a traffic graph or a training job.

    Attributes:
        rank: Rank of the agent.
        sliced: Slices, sends and tasks of all ranks.
        inputs: Array of each rank; the agent starts from `inputs[rank]`.
        addresses: CNA of each rank.
        transport: Parameters of its connections: windows, timeouts, paths, service level.
        job: Job number in the headers of its frames; with a profile, the number of the iteration from 1.
        profile: Computation and iterations of a training job; None for an agent that sends once.
        reduction: Model of the NPU's reducer; None if the processing of arrivals takes no time.
        cache: The engine's descriptions of ranks, reused by agents of the same traffic.
    """

    rank: int
    sliced: SlicedTraffic
    inputs: Sequence[Array]
    addresses: Sequence[int]
    transport: TransportParameters
    job: int = 1
    profile: IterationProfile | None = None
    reduction: Reduction | None = None
    cache: RankCache = field(default_factory=RankCache, repr=False)

    @property
    def data(self) -> Array:
        """Initial array of the agent."""
        return self.inputs[self.rank]


def agent_specs(
    sliced: SlicedTraffic,
    inputs: Sequence[Array],
    addresses: Sequence[int],
    *,
    transport: TransportParameters | None = None,
    job: int = 1,
    profile: IterationProfile | None = None,
    reduction: Reduction | None = None,
    cache: RankCache | None = None,
) -> list[AgentSpec]:
    """Return the description of each rank's agent; `AgentSpec` explains the arguments."""
    transport, cache = transport or TransportParameters(), cache or RankCache()
    return [
        AgentSpec(rank, sliced, inputs, addresses, transport, job, profile, reduction, cache)
        for rank in range(len(inputs))
    ]
