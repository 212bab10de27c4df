# SPDX-License-Identifier: Apache-2.0
"""Making of the agents of a collective: in C++ or in Python, which send the same frames at the same times.

    native      C++; covers all that agents in Python do
    python      the specification; Mininet's processes run agents in C++ that are made like these

Saturating hosts (`saturate`) are of either kind as well; stations of `railyard.api` are in Python.
"""

from collections.abc import Sequence
from typing import Literal

from emulation.traffic.host.agent import Agent
from emulation.traffic.host.iterations import Iterated, Rhythm
from emulation.traffic.host.kept_ranks import KeptRanks
from emulation.traffic.host.native import NativeAgent, NativeIterated, Ranks
from emulation.traffic.host.reduction import Reduction
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import Array, agent_arrays
from emulation.traffic.schedule.schedule import SlicedTraffic

__all__ = ["Hosts", "Participant", "RepeatingParticipant", "make_agents"]

Hosts = Literal["native", "python"]

RepeatingParticipant = Iterated | NativeIterated
"""An agent with iterations."""

Participant = Agent | NativeAgent | RepeatingParticipant
"""An agent of a collective."""


def make_agents(
    hosts: Hosts,
    sliced: SlicedTraffic,
    inputs: Sequence[Array],
    addresses: Sequence[int],
    *,
    rhythm: Rhythm | None = None,
    job: int = 1,
    parameters: TransportParameters | None = None,
    reduction: Reduction | None = None,
    kept: KeptRanks | None = None,
    threads: int = 1,
) -> list[Participant]:
    """Return the agent of each rank; those of a job with a rhythm have iterations, and no job number.

    `addresses[r]` is the CNA of rank r, `inputs[r]` its array. `reduction` models what reduces on an NPU.
    `kept` has what earlier agents of the same traffic in C++ were made from. `threads` draw the arrays of
    agents in C++.
    """
    parameters = parameters or TransportParameters()
    if hosts == "native":
        ranks = Ranks(sliced, addresses, parameters, reduction, kept)
        if rhythm is not None:
            return [ranks.iterated(rank, data, rhythm) for rank, data in enumerate(inputs)]
        return [ranks.agent(rank, data, job) for rank, data in enumerate(agent_arrays(inputs, threads))]
    if rhythm is not None:
        return [
            Iterated(rank, sliced, data, addresses, rhythm, parameters=parameters, reduction=reduction)
            for rank, data in enumerate(inputs)
        ]
    return [
        Agent(rank, sliced, data, addresses, job=job, parameters=parameters, reduction=reduction)
        for rank, data in enumerate(inputs)
    ]
