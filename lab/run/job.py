# SPDX-License-Identifier: Apache-2.0
"""The agents of a run: put in place, and begun again when spares have taken the places of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import final

from emulation.testbed import Testbed
from emulation.traffic.host.agent import Agent
from emulation.traffic.host.iterations import Iterated, IterationReport
from emulation.traffic.host.stats import NOTHING, AgentStats, Ended, Outcome
from emulation.traffic.schedule.data import Array, make_data
from lab.run.prepare import JobPlan, Prepared
from topologies.transform.spares import standbys

__all__ = ["Before", "Job", "Jobs"]

# Sequence numbers of a job begin so far from those of the one before that none of its acknowledgements, which
# carry no job number, can be one of this job's.
_PSN_STRIDE = 1 << 20


Before = Callable[[str, Callable[[], None]], None]
"""Called when a job has come, with its name and what begins it."""


@final
class Jobs:
    """All jobs of a run, each begun at its time; what happens to spares concerns the only one there is."""

    def __init__(self, ready: Prepared, testbed: Testbed, seed: int) -> None:
        self._testbed = testbed
        self.before: Before | None = None
        self.after: Callable[[str], None] | None = None
        self.all = [Job(ready, plan, testbed, seed + index) for index, plan in enumerate(ready.jobs)]
        self._waiting = len(self.all)

    def begin(self) -> None:
        """Begin what begins at once, and have the others begin at their times, each after `before`.

        `after` is called with the name of a job that has ended.
        """
        for job in self.all:
            if job.plan.begin_ps:
                self._testbed.at(job.plan.begin_ps, partial(self._come, job))
            else:
                self._come(job)

    def _come(self, job: Job) -> None:
        job.came = True
        if self.before is None:
            self._begin(job)
        else:
            self.before(job.plan.name, partial(self._begin, job))

    def _begin(self, job: Job) -> None:
        after = self.after
        job.begin(None if after is None else partial(after, job.plan.name))
        self._waiting -= 1

    def demands(self) -> dict[str, dict[tuple[str, str], int]]:
        """Bytes by pairs of members, by name, of the jobs that are there: come, and not done."""
        return {job.plan.name: job.plan.demand for job in self.all if job.came and not job.done}

    @property
    def busy(self) -> bool:
        """Whether there is or will be something to send."""
        return self._waiting > 0 or self._testbed.busy

    def resume(self, places: Mapping[str, str]) -> None:
        """As `Job.resume`."""
        for job in self.all:
            job.resume(places)

    @property
    def holders(self) -> list[str]:
        """Who stands for each member, job by job."""
        return [name for job in self.all for name in job.holders]

    @property
    def stats(self) -> list[AgentStats]:
        """Of all nodes that have had an agent."""
        return [one for job in self.all for one in job.stats]


@final
class Job:
    """A collective among the members, each of them on its own side or on that of the spare in its place.

    A job that begins again begins with its inputs, the only checkpoint there is: all ranks, under another
    job number, so that what is left of the old one on the wire is known and ignored.
    """

    def __init__(self, ready: Prepared, plan: JobPlan, testbed: Testbed, seed: int) -> None:
        self._ready = ready
        self.plan = plan
        self._testbed = testbed
        self._number = 1
        collective = plan.collective
        self.inputs: Sequence[Array] = [
            make_data(rank, collective.elements, collective.dtype, seed) for rank in range(len(plan.members))
        ]
        self._addresses = [ready.fabric.node(name).address for name in plan.members]
        self.holders = list(plan.members)
        self._were = set(plan.members)
        self.came = False
        self.begun_ps: int | None = None
        self.level = plan.level
        self.on_iteration: Callable[[str, int], None] | None = None
        self._busy: set[str] = set()  # whose ranks have something to do, where anybody asks

    @property
    def done(self) -> bool:
        """Whether all have their result, and know that what they sent has come."""
        return (
            self.begun_ps is not None and not self._busy and all(e.finished_ps is not None for e in self.ends)
        )

    def begin(self, ended: Callable[[], None] | None = None) -> None:
        """Put an agent on every member's own side, now; all spares stand by. Call `ended` when it has."""
        self.begun_ps = self._testbed.now_ps
        agents = self._agents()
        if ended is not None:
            self._busy = set(agents)
            for name, agent in agents.items():
                agent.on_done = partial(self._one_ended, name, ended)
        for name, agent in agents.items():
            self._testbed.attach(name, agent)
        for spare in standbys(self._ready.fabric):
            self._testbed.stand_by(spare)

    def _one_ended(self, name: str, ended: Callable[[], None]) -> None:
        self._busy.discard(name)
        if not self._busy:
            # Not now: an agent is in the middle of a frame.
            self._testbed.at(self._testbed.now_ps, ended)

    def resume(self, places: Mapping[str, str]) -> None:
        """All over again, with these spares in the places of members; with none when a switch was replaced.

        What was in the place of no member changes nothing.
        """
        moved = {name: spare for name, spare in places.items() if name in self.plan.members}
        if places and not moved:
            return
        self.holders = [
            moved.get(name, old) for name, old in zip(self.plan.members, self.holders, strict=True)
        ]
        self._were.update(moved.values())
        self._number += 1
        self._testbed.restart(self._agents())

    @property
    def ends(self) -> list[Outcome]:
        """What became of each rank; nothing, where the job has not begun."""
        if self.begun_ps is None:
            return [Ended(data, NOTHING, None, None) for data in self.inputs]
        return [self._testbed.outcome(name) for name in self.holders]

    def set_level(self, level: int) -> None:
        """The service level of its data from the next iteration on."""
        self.level = level
        for end in self.ends:
            if isinstance(end, Iterated):
                end.set_level(level)

    @property
    def logs(self) -> list[Sequence[IterationReport]]:
        """Of each rank, its iterations; empty of a job without a rhythm."""
        return [end.log if isinstance(end, Iterated) else () for end in self.ends]

    @property
    def stats(self) -> list[AgentStats]:
        """Of all nodes that have had an agent."""
        if self.begun_ps is None:
            return []
        return [self._testbed.outcome(name).stats for name in sorted(self._were)]

    def _agents(self) -> Mapping[str, Agent | Iterated]:
        parameters = replace(
            self._ready.transport,
            first_psn=(self._number - 1) * _PSN_STRIDE & 0xFFFFFF,
            level=self.level,
            connections=self.plan.connections,
        )
        if self.plan.rhythm is not None:
            found = {
                name: Iterated(
                    rank,
                    self.plan.sliced,
                    self.inputs[rank],
                    self._addresses,
                    self.plan.rhythm,
                    parameters=parameters,
                )
                for rank, name in enumerate(self.holders)
            }
            if self.on_iteration is not None:
                for name, agent in found.items():
                    agent.on_iteration = partial(self.on_iteration, name)
            return found
        return {
            name: Agent(
                rank,
                self.plan.sliced,
                self.inputs[rank],
                self._addresses,
                job=self._number,
                parameters=parameters,
            )
            for rank, name in enumerate(self.holders)
        }
