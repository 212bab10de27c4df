# SPDX-License-Identifier: Apache-2.0
"""Agents of an NPU in collectives that begin and end independently of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from emulation import _engine
from emulation.traffic.frames.values import ElementType
from emulation.traffic.host.agents import Common, Parts, transport_of
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.transport import TransportParameters

__all__ = ["ConcurrentAgents"]


@final
class ConcurrentAgents(Common, _engine.Concurrent):
    """All agents of one NPU, each in a collective with queue numbers of its own.

    The testbed's host is this object; `begin` adds an agent, which the testbed then starts
    (`Agents.start` of the embedded testbed). `stats` sums the counts of all agents, past and present.
    """

    def __init__(self, address: int) -> None:
        super().__init__()
        self.rank = 0
        self.address = address
        self._dtype = np.dtype(np.uint8)

    times: Sequence[tuple[int, int]] = ()
    log: Sequence[IterationReport] = ()

    def begin(
        self,
        parts: Parts,
        rank: int,
        data: NDArray[np.uint8],
        transport: TransportParameters,
        *,
        dtype: ElementType,
        job: int,
        queues: int,
    ) -> _engine.Agent:
        """Add an agent for a rank, and return it.

        The agent has `queues` queue numbers, from `transport.first_queue` on. `data` are the bytes of its
        array, whose elements have the type `dtype`.
        """
        agent = _engine.Agent(parts.of(rank, dtype), data, job, transport_of(transport))
        self.add(agent, transport.first_queue, queues)
        return agent

    def _set_on_end(self, call: Callable[[int], None]) -> None:
        self.call_at_end(call)

    on_end = property(
        fset=_set_on_end,
        doc="Called with the first queue number of an agent whose result is final, or that has given up.",
    )
