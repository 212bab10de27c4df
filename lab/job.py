# SPDX-License-Identifier: Apache-2.0
"""The agents of a run: put in place, and begun again when a spare has taken the place of an NPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from emulation.testbed import Testbed
from emulation.traffic.agent import Agent
from emulation.traffic.data import Array, make_data
from emulation.traffic.schedule import demand
from emulation.traffic.stats import AgentStats, Outcome
from lab.prepare import Prepared
from lab.scenario import ELEMENT_BYTES
from topologies.spare import spares_for

__all__ = ["Job", "demand_of"]

# Sequence numbers of a job begin so far from those of the one before that none of its acknowledgements, which
# carry no job number, can be one of this job's.
_PSN_STRIDE = 1 << 20


def demand_of(ready: Prepared) -> dict[tuple[str, str], int]:
    """Bytes by pairs of members."""
    return demand(ready.sliced.schedule, ready.members, ELEMENT_BYTES)


@final
class Job:
    """A collective among the members, each of them on its own side or on that of the spare in its place.

    A job that begins again begins with its inputs, the only checkpoint there is: all ranks, under another
    job number, so that what is left of the old one on the wire is known and ignored.
    """

    def __init__(self, ready: Prepared, testbed: Testbed, seed: int) -> None:
        self._ready = ready
        self._testbed = testbed
        self._number = 1
        collective = ready.variant.collective
        self.inputs: Sequence[Array] = [
            make_data(rank, collective.elements, collective.dtype, seed) for rank in range(len(ready.members))
        ]
        self._addresses = [ready.fabric.node(name).address for name in ready.members]
        self.holders = list(ready.members)
        self._were = set(ready.members)

    def begin(self) -> None:
        """Put an agent on every member's own side; the spares of their racks stand by."""
        for name, agent in self._agents().items():
            self._testbed.attach(name, agent)
        for spare in dict.fromkeys(
            one for name in self.holders for one in spares_for(self._ready.fabric, name)
        ):
            self._testbed.stand_by(spare)

    def resume(self, npu: str, spare: str) -> None:
        """All over again, with a spare in the place of an NPU; an NPU that is no member changes nothing."""
        if npu not in self._ready.members:
            return
        self.holders[self._ready.members.index(npu)] = spare
        self._were.add(spare)
        self._number += 1
        self._testbed.restart(self._agents())

    @property
    def ends(self) -> list[Outcome]:
        """What became of each rank."""
        return [self._testbed.outcome(name) for name in self.holders]

    @property
    def stats(self) -> list[AgentStats]:
        """Of all nodes that have had an agent."""
        return [self._testbed.outcome(name).stats for name in sorted(self._were)]

    def _agents(self) -> dict[str, Agent]:
        ready = self._ready
        parameters = replace(ready.transport, first_psn=(self._number - 1) * _PSN_STRIDE & 0xFFFFFF)
        return {
            name: Agent(
                rank,
                ready.sliced,
                self.inputs[rank],
                self._addresses,
                job=self._number,
                parameters=parameters,
            )
            for rank, name in enumerate(self.holders)
        }
