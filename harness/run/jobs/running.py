# SPDX-License-Identifier: Apache-2.0
"""Jobs of a run: they attach agents to their members, and restart when a spare has taken over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property, partial
from typing import final

from emulation.testbed import Testbed
from emulation.traffic.graph.truth import GraphInputs
from emulation.traffic.host.agents import Agent, RepeatingAgent
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.spec import AgentSpec, agent_specs
from emulation.traffic.host.stats import NOTHING, AgentStats, Ended, Outcome
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.schedule.data import Array, make_inputs
from emulation.traffic.schedule.schedule import SlicedTraffic
from harness.run.collectives.connections import path_shares
from harness.run.in_switches.members import Members
from harness.run.in_switches.plan import TreePlan
from harness.run.in_switches.running import TreeSlots
from harness.run.planning.job_plan import JobPlan
from harness.run.prepare import Prepared
from harness.scenario.schema import ELEMENT_BYTES
from topologies.transform.spares import standbys

__all__ = ["Before", "Job", "Jobs"]

# Distance between the first sequence numbers of a job and of its restart. Acknowledgements carry no job
# number, and an acknowledgement of the old job must not match a frame of the restarted job.
_PSN_STRIDE = 1 << 20


Progress = tuple[int, int, int, int]
"""Frames that a node has sent, retransmitted and received; its longest smoothed round trip in ps or 0."""

Before = Callable[[str, Callable[[], None]], None]
"""Hook that is called when a job is due, with the job's name and a function that begins the job."""


@final
class Jobs:
    """All jobs of a run, each of which begins at its time; a run with spares has a single job."""

    def __init__(self, ready: Prepared, testbed: Testbed, seed: int, slots: TreeSlots | None = None) -> None:
        self._testbed = testbed
        self.before: Before | None = None
        self.after: Callable[[str], None] | None = None
        self.all = [Job(ready, plan, testbed, seed + index, slots) for index, plan in enumerate(ready.jobs)]
        self._waiting = len(self.all)

    def begin(self) -> None:
        """Begin each job at its time.

        The hook `before` is called when a job is due, the hook `after` when a job has ended.
        """
        for name in self.holders:
            self._testbed.stand_by(name)
        for job in self.all:
            if job.plan.begin_ps:
                self._testbed.at(job.plan.begin_ps, partial(self._due, job))
            else:
                self._due(job)

    def _due(self, job: Job) -> None:
        job.due = True
        if self.before is None:
            self._begin(job)
        else:
            self.before(job.plan.name, partial(self._begin, job))

    def _begin(self, job: Job) -> None:
        after = self.after
        job.begin(None if after is None else partial(after, job.plan.name))
        self._waiting -= 1

    def demands(self) -> dict[str, dict[tuple[str, str], int]]:
        """Return the bytes to send by pair of members, for each due and unfinished job by name."""
        return {job.plan.name: job.demand for job in self.all if job.due and not job.done}

    @property
    def busy(self) -> bool:
        """True until all jobs have begun and all agents have finished."""
        return self._waiting > 0 or self._testbed.busy

    def resume(self, places: Mapping[str, str]) -> None:
        """Restart the jobs affected by a failure; `places` is as for `Job.resume`."""
        for job in self.all:
            job.resume(places)

    @property
    def holders(self) -> list[str]:
        """Nodes acting as the members, spares included, job by job."""
        return [name for job in self.all for name in job.holders]

    @property
    def stats(self) -> list[AgentStats]:
        """Statistics of all nodes with a present or former agent."""
        return [stats for job in self.all for stats in job.stats]


@final
class Job:
    """A job with an agent for each member, on the member's node or on the node's spare.

    A restart begins from the inputs of the job, which are the only checkpoint. All ranks restart under a new
    job number, so that receivers recognise and ignore frames of the old job.
    """

    def __init__(
        self,
        ready: Prepared,
        plan: JobPlan,
        testbed: Testbed,
        seed: int,
        slots: TreeSlots | None = None,
    ) -> None:
        self._ready = ready
        self._slots = slots
        self.down: Callable[[], Set[str]] = frozenset
        self.trees: Members | None = None  # set when a collective in switches begins
        self.plan = plan
        self._testbed = testbed
        self.threads = testbed.threads
        self._number = 1
        collective, graph = plan.collective, plan.graph
        self.inputs: Sequence[Array] = (
            make_inputs(len(plan.members), collective.elements, collective.dtype, seed)
            if graph is None
            else GraphInputs(graph, collective.dtype, seed)
        )
        self._addresses = [ready.fabric.node(name).address for name in plan.members]
        self.holders = list(plan.members)
        self._were = set(plan.members)
        # Agents need paths only if they spray frames over them; connections have a path each.
        self._paths = None
        if plan.connections is None:
            self._paths = plan.cache.paths_of(ready.plan, lambda: path_shares(ready.plan, plan.members))
        self.due = False
        self.begun_ps: int | None = None
        self._unfinished = 0  # rank that had no result when `ended_ps` was last computed
        self.level = plan.level
        self.on_iteration: Callable[[str, int], None] | None = None
        self._busy: set[str] = set()  # unfinished nodes; tracked only if `begin` has a callback

    @cached_property
    def demand(self) -> dict[tuple[str, str], int]:
        """Bytes that the job sends, by pair of members."""
        return self.plan.demand

    @property
    def done(self) -> bool:
        """True if all members have their result and all their frames are acknowledged."""
        return (
            self.begun_ps is not None
            and not self._busy
            and all(end.finished_ps is not None for end in self.ends)
        )

    def begin(self, ended: Callable[[], None] | None = None) -> None:
        """Attach an agent to every member now, put all spares on standby; call `ended` when the job ends."""
        self.begun_ps = self._testbed.now_ps
        if self.plan.trees is not None:
            self._begin_in_switches(self.plan.trees, ended)
            return
        specs = self._specs()
        on_done = None
        if ended is not None:
            self._busy = set(specs)
            on_done = partial(self._member_ended, ended)
        self._testbed.attach_agents(specs, on_done=on_done, on_iteration=self.on_iteration)
        for spare in standbys(self._ready.fabric):
            self._testbed.stand_by(spare)

    def _begin_in_switches(self, plan: TreePlan, ended: Callable[[], None] | None) -> None:
        """Give trees slots in switches and attach the members; take the slots back when all members end."""
        assert self._slots is not None
        members = Members(
            self._testbed,
            self._slots,
            plan,
            self.plan.members,
            self.inputs,
            self._ready.transport,
            lambda: self.down(),
            self._described,
            self.plan.collective.payload_bytes // ELEMENT_BYTES,
        )

        def all_ended() -> None:
            self._busy.clear()
            members.take_back()
            if ended is not None:
                ended()

        self.trees = members
        self._busy = set(self.plan.members)
        members.attach(all_ended)

    def _member_ended(self, ended: Callable[[], None], name: str) -> None:
        self._busy.discard(name)
        if not self._busy:
            # Call `ended` from the event loop: the agent that calls this method is still processing a frame.
            self._testbed.at(self._testbed.now_ps, ended)

    def resume(self, places: Mapping[str, str]) -> None:
        """Restart the job with spares in place of lost nodes.

        `places` maps the original node of each replaced position to its spare. It is empty if a switch was
        replaced, and then the job restarts on its nodes. If no replaced node is a member, the job continues.
        """
        moved = {name: spare for name, spare in places.items() if name in self.plan.members}
        if places and not moved:
            return
        self.holders = [
            moved.get(name, old) for name, old in zip(self.plan.members, self.holders, strict=True)
        ]
        self._were.update(moved.values())
        self._number += 1
        self._paths = None  # the plan after a takeover has no standby paths and no weights
        self._testbed.restart(self._specs(), on_iteration=self.on_iteration)

    @property
    def ends(self) -> list[Outcome]:
        """Outcome of each rank; before the job begins, the rank's input array and no end time."""
        if self.begun_ps is None:
            return [Ended(data, NOTHING, None, None) for data in self.inputs]
        return [self._outcome(name) for name in self.holders]

    @property
    def ended_ps(self) -> int | None:
        """Time in ps of the last rank's result; None while a rank has no result."""
        # A watched run reads this at every tick, so first ask the rank that had no result last time.
        if self.begun_ps is None or self._outcome(self.holders[self._unfinished]).finished_ps is None:
            return None
        last = 0
        for rank, name in enumerate(self.holders):
            finished_ps = self._outcome(name).finished_ps
            if finished_ps is None:
                self._unfinished = rank
                return None
            last = max(last, finished_ps)
        return last

    def _outcome(self, name: str) -> Outcome:
        if self.trees is not None:
            return self.trees.outcome(name)
        outcome = self._testbed.outcome(name)
        assert not isinstance(outcome, MemoryAgent)
        return outcome

    def set_level(self, level: int) -> None:
        """Set the service level of the job's data from the next iteration on."""
        self.level = level
        for name in self.holders:
            self._testbed.set_level(name, level)

    @property
    def logs(self) -> list[Sequence[IterationReport]]:
        """Reports of the iterations of each rank; empty for a job without iterations."""
        return [end.log for end in self.ends]

    @property
    def stats(self) -> list[AgentStats]:
        """Statistics of all nodes that have had an agent."""
        if self.begun_ps is None:
            return []
        return [self._outcome(name).stats for name in sorted(self._were)]

    @property
    def progress(self) -> list[Progress]:
        """Progress of all nodes that have or had an agent; a recording keeps only this part of `stats`."""
        if self.begun_ps is None:
            return []
        return [_progress(self._outcome(name)) for name in sorted(self._were)]

    @property
    def received(self) -> list[int]:
        """Number of data frames received by the agent of each rank."""
        return [] if self.begun_ps is None else [_received(self._outcome(name)) for name in self.holders]

    def _specs(self) -> Mapping[str, AgentSpec]:
        """Return the agents of the job, by the node of each."""
        return self._described(self.plan.sliced, self.inputs)

    def _described(self, sliced: SlicedTraffic, inputs: Sequence[Array]) -> Mapping[str, AgentSpec]:
        """Return agents that execute the schedule `sliced` among the members, by the node of each."""
        transport = replace(
            self._ready.transport,
            first_psn=(self._number - 1) * _PSN_STRIDE & 0xFFFFFF,
            level=self.level,
            connections=self.plan.connections,
            paths=None if self._ready.transport.go_back else self._paths,
        )
        hosts = self._ready.variant.hosts
        specs = agent_specs(
            sliced,
            inputs,
            self._addresses,
            transport=transport,
            job=self._number,
            profile=self.plan.rhythm,
            reduction=None if hosts is None else hosts.model,
            cache=self.plan.cache.ranks,
        )
        return dict(zip(self.holders, specs, strict=True))


def _received(outcome: Outcome) -> int:
    return outcome.received if isinstance(outcome, Agent | RepeatingAgent) else outcome.stats.received


def _progress(outcome: Outcome) -> Progress:
    # A recording reads this for every node at every tick, and making an AgentStats takes longer.
    if isinstance(outcome, Agent | RepeatingAgent):
        sent, retransmitted, received, _, _, _, rtt_ps, *_ = outcome.counts()
        return sent, retransmitted, received, rtt_ps
    stats = outcome.stats
    return stats.sent, stats.retransmitted, stats.received, stats.rtt_ps
