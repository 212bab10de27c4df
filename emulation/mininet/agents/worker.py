# SPDX-License-Identifier: Apache-2.0
"""Process running the agents of several hosts, each on a raw socket in the host's namespace.

The driver in C++ sends and receives the frames. It calls Python when an agent ends or reports, or when an
order arrives.
"""

import mmap
import os
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, final

from emulation import _engine
from emulation.fidelity import MAX_LATE_CHAIN, MAX_LATE_P99
from emulation.linux import netns
from emulation.mininet.agents.driver import Clock, missed_frames, open_socket, pace_of
from emulation.mininet.agents.messages import (
    AskWaiting,
    Description,
    HostAgent,
    HostOrder,
    Idle,
    Job,
    MoveMember,
    Report,
    Reroute,
    SetLevel,
    busiest_bytes,
    make_host_agents,
    schedule_of,
)
from emulation.mininet.agents.tallies import Tallies
from emulation.traffic.host.agents import Agent, RepeatingAgent
from emulation.traffic.host.stats import NOTHING, AgentStats
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.schedule.schedule import Schedule
from emulation.traffic.tree.member import TreeMember

__all__ = ["Worker"]

_NOTE_NS = 50_000_000
_ALL_RING_BYTES, _LEAST_RING_BYTES, _RING_BYTES = 128 << 20, 256 << 10, 4 << 20
"""Bytes of receive rings, which the kernel does not swap: of all hosts; least and most of a host."""

_REST = 0.25
"""Share of the limits of lateness that may come from the driver's rests."""


@final
@dataclass(slots=True)
class _Seat:
    """A host with its present agent.

    Attributes:
        index: Index of the host's slot in the job.
        node: Node of the host.
        agent: The present agent.
        schedule: Schedule of the agent; None if it has none.
        number: Number of the order that began the agent; 0 for the first agent.
        before: Counts of all earlier agents.
        replaced: The latest tree member that was replaced; None if there is none.
    """

    index: int
    node: str
    agent: HostAgent | Idle
    schedule: Schedule | None
    number: int = 0
    before: AgentStats = NOTHING
    replaced: TreeMember | None = None


@final
class Worker:
    """Runs some hosts of a job: those whose slots have the indices `indices`.

    It sends messages over the connection `parent`, and receives orders over the connection `orders`.
    """

    def __init__(self, job: Job, indices: Sequence[int], parent: Connection, orders: Connection) -> None:
        self._job = job
        self._parent, self._orders = parent, orders
        self._driver = _engine.HostDriver(
            job.rate_bps, job.dilation, job.bin_ps, _NOTE_NS if job.watched else 0
        )
        self._indices = indices
        self._seats: list[_Seat] = []
        self._seat_numbers: dict[str, int] = {}

    def run(self, go: int, stop: int) -> None:
        """Run the hosts from the time read from `go` until `stop` is readable, then report.

        `go` and `stop` are descriptors of pipes; `go` gets 8 bytes: monotonic ns, little endian.
        """
        try:
            self._run(go, stop)
        except BaseException:
            node = self._seats[self._driver.at].node if self._seats else "a host"
            self._parent.send(("failed", node, traceback.format_exc()))
            raise

    def _run(self, go: int, stop: int) -> None:
        job, driver = self._job, self._driver
        self._tallies = Tallies(mmap.mmap(job.memory, Tallies.size(len(job.slots))), len(job.slots))
        sockets = []
        ring = min(max(_ALL_RING_BYTES // len(job.slots), _LEAST_RING_BYTES), _RING_BYTES)
        agents = make_host_agents([job.slots[index].agent for index in self._indices])
        for index, agent in zip(self._indices, agents, strict=True):
            slot = job.slots[index]
            netns.enter(slot.namespace)
            sockets.append(open_socket(slot.interface))
            seat = _Seat(index, slot.node, agent, schedule_of(slot.agent))
            self._seat_numbers[slot.node] = len(self._seats)
            self._seats.append(seat)
            self._listen(seat)
            driver.add(seat.agent, sockets[-1].fileno(), self._tallies.arrived(index), ring)
        driver.watch(stop)
        driver.watch(self._orders.fileno())
        self._parent.send(("ready", "", None))
        start = os.read(go, 8)
        if len(start) < 8:
            return
        self._start_ns = int.from_bytes(start, "little")
        self._rest(self._start_ns)
        before = time.process_time()
        driver.go(self._start_ns)
        stopped = False
        while not stopped:
            readable, ended, noted = driver.run()
            for number in ended:
                seat = self._seats[number]
                self._tell("ended", seat, seat.number, seat.agent.finished_ps, seat.agent.failed)
            for number in noted:
                seat = self._seats[number]
                self._tallies.note(seat.index, seat.before + seat.agent.stats, seat.agent.finished_ps)
            stopped = stop in readable
            if self._orders.fileno() in readable and not stopped:
                self._obey()
        while self._orders.poll():  # orders sent before the stop: the report is of the agents that they begin
            self._obey()
        driver.stop()
        seconds = time.process_time() - before
        reports = {
            seat.node: self._report(seat, number, missed_frames(sockets[number]))
            for number, seat in enumerate(self._seats)
        }
        self._parent.send(("report", "", (reports, seconds, driver.counts())))

    def _tell(self, kind: str, seat: _Seat, *what: Any) -> None:
        self._parent.send((kind, seat.node, what))

    def _listen(self, seat: _Seat) -> None:
        """Have the callbacks of a host's agent send messages to the parent."""
        agent, number = seat.agent, seat.number
        if isinstance(agent, Agent | RepeatingAgent):
            agent.on_repath = partial(self._tell, "silent", seat)
        if isinstance(agent, TreeMember):
            agent.on_lost = partial(self._tell, "tree lost", seat, number)
        if isinstance(agent, RepeatingAgent):
            agent.on_iteration = lambda _: self._tell("iteration", seat, number, agent.log[-1])

    def _report(self, seat: _Seat, number: int, missed: int) -> Report:
        agent = seat.agent
        rest: dict[str, Any] = {}
        if isinstance(agent, Agent | RepeatingAgent | TreeMember):
            array = agent.result
            os.pwrite(self._job.memory, array.tobytes(), self._job.array_at(seat.index))
            rest = {
                "times": agent.times,
                "log": agent.log,
                "dtype": array.dtype.str,
                "nbytes": array.nbytes,
            }
            if seat.replaced is not None:
                content = seat.replaced.result.tobytes()
                os.pwrite(self._job.memory, content, self._job.replaced_at(seat.index))
                rest["replaced_nbytes"] = len(content)
        elif isinstance(agent, MemoryAgent):
            rest["agent"] = agent
        return Report(
            stats=seat.before + agent.stats,
            finished_ps=agent.finished_ps,
            failed=agent.failed,
            bins=self._driver.bins(number),
            pace=pace_of(self._driver, number, missed),
            **rest,
        )

    def _obey(self) -> None:
        """Read an order and carry it out: begin other agents, or call a host's agent or driver."""
        match self._orders.recv():
            case ("begin", number, start_ns, agents):
                self._begin(number, start_ns, agents)
            case ("order", node, order):
                self._carry_out(order, self._seat_numbers[node])

    def _carry_out(self, order: HostOrder, seat_number: int) -> None:
        seat = self._seats[seat_number]
        agent = seat.agent
        match order:
            case Reroute(routes):
                bits = [(cna, sum(1 << bucket for bucket in buckets)) for cna, buckets in routes.items()]
                self._driver.reroute(seat_number, bits)
            case SetLevel(level):
                if isinstance(agent, RepeatingAgent):
                    agent.set_level(level)
            case AskWaiting(tree):
                blocks = agent.lacking_of(tree) if isinstance(agent, TreeMember) else []
                self._tell("waiting", seat, tree, blocks)
            case MoveMember(tree, port, blocks):
                if isinstance(agent, TreeMember):
                    now = Clock(self._start_ns, self._job.dilation).ps(time.monotonic_ns())
                    self._driver.act(seat_number, agent.move(tree, port, blocks, now))

    def _begin(self, number: int, start_ns: int, descriptions: Mapping[str, Description]) -> None:
        agents = make_host_agents([*descriptions.values()])
        for (node, description), agent in zip(descriptions.items(), agents, strict=True):
            seat = self._seats[self._seat_numbers[node]]
            seat.before += seat.agent.stats
            if isinstance(seat.agent, TreeMember):
                seat.replaced = seat.agent
            seat.agent, seat.number, seat.schedule = agent, number, schedule_of(description)
            self._listen(seat)
            self._driver.replace(self._seat_numbers[node], seat.agent, start_ns)
        self._rest(start_ns)

    def _rest(self, start_ns: int) -> None:
        """Let the driver rest between polls, so that frames gather, as far as the limits of lateness permit.

        The driver gets an estimate of the run's end: `start_ns`, plus the time that the data of the busiest
        rank take at the rate of its links.
        """
        seats = [seat for seat in self._seats if not isinstance(seat.agent, Idle)]
        schedules = {id(seat.schedule): seat.schedule for seat in seats if seat.schedule is not None}.values()
        # The driver does not rest if an agent has no schedule: such an agent may time its own frames.
        judged = all(seat.schedule is not None for seat in seats)
        steps = max((schedule.steps for schedule in schedules), default=1)
        limit = min(MAX_LATE_P99, MAX_LATE_CHAIN / max(1, steps)) if judged else 0.0
        nbytes = max(map(busiest_bytes, schedules), default=0)
        data_ns = int(nbytes * 8e9 / self._job.rate_bps)
        self._driver.rest(limit * _REST, start_ns - self._start_ns + data_ns)
