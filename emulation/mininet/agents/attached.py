# SPDX-License-Identifier: Apache-2.0
"""Agents of a run in real time, by node: attached, replaced, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final

import numpy as np

from emulation.errors import TestbedError
from emulation.mininet.agents.messages import (
    AskWaiting,
    Description,
    HostOrder,
    HostSlot,
    MoveMember,
    Report,
    Reports,
    Reroute,
    SetLevel,
)
from emulation.testbed import DoneHandler, IterationHandler, RepathHandler
from emulation.traffic.host.checks import check_addresses, check_agent
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import NOTHING, AgentStats, Ended, Failure, LostBlock
from emulation.traffic.memory.agent import LostMemory, MemoryAgent
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.spec import MemberSpec, TreePort
from emulation.traffic.tree.work import Block
from emulation.tree_testbed import TreeLostHandler, WaitingBlocks

__all__ = ["Agents", "HostProcesses"]

_NO_ARRAY: Array = np.zeros(0, np.int32)


class HostProcesses(Protocol):
    """Host processes of a run, on one machine or on several; times are of this machine's monotonic clock."""

    def launch(
        self, slots: Sequence[HostSlot], rate_bps: float, dilation: int, bin_ps: int, *, watched: bool
    ) -> None:
        """Create every host in its namespace, and wait until all are ready. `rate_bps` is in real time."""
        ...

    def go(self, start_ns: int) -> None:
        """Begin all agents and scenario time at `start_ns`."""
        ...

    def begin(self, number: int, agents: Mapping[str, Description]) -> None:
        """Replace the agents of nodes; the new agents begin at the same time, a little later than now.

        The messages of the new agents carry `number`.
        """
        ...

    def give(self, node: str, order: HostOrder) -> None:
        """Give an order to a host."""
        ...

    @property
    def received_bytes(self) -> int:
        """Bytes of data received by all hosts together."""
        ...

    def noted(self, node: str) -> tuple[AgentStats, int | None]:
        """Return the latest counts of a host of a watched run, and its finishing time in ps or None."""
        ...

    def reports(self) -> Reports:
        """Stop all hosts, and return their reports."""
        ...

    def array(self, node: str, report: Report) -> Array:
        """Return a host's final array; call reports() first."""
        ...

    def replaced_array(self, node: str, report: Report) -> Array:
        """Return the array of the tree member last replaced at a host; call reports() first."""
        ...


@final
@dataclass(slots=True)
class _Seat:
    """State of a node's agent, as reported by its process; messages of the process call the callbacks.

    `number` is the number of the order that began the agent, 0 for agents attached before `go`.
    """

    agent: Description = None
    on_done: DoneHandler | None = None
    on_iteration: IterationHandler | None = None
    on_tree_lost: TreeLostHandler | None = None
    number: int = 0
    ended: bool = False
    finished_ps: int | None = None
    failed: Failure | LostBlock | LostMemory | None = None
    log: list[IterationReport] = field(default_factory=list)


@final
@dataclass(slots=True)
class _Question:
    """A question to a tree's members for the blocks whose results they lack; `missing` have not answered."""

    tree: int
    missing: set[str]
    answered: Callable[[WaitingBlocks], None]
    blocks: dict[str, Sequence[int]] = field(default_factory=dict)


@final
class Agents:
    """Agents by node. Agents attached before `go` begin with it, later agents with the next `send_orders`."""

    def __init__(self, population: HostProcesses, namespaces: Mapping[str, str], interface: str) -> None:
        self._population = population
        self._namespaces = namespaces
        self._interface = interface
        self._seats: dict[str, _Seat] = {}
        self._orders = 0
        self._begun = False
        self._arriving: dict[str, _Seat] = {}
        self._reports: Mapping[str, Report] | None = None
        self._questions: list[_Question] = []
        self.on_repath: RepathHandler | None = None

    def attach(
        self,
        node: str,
        agent: AgentSpec | MemberSpec | MemoryAgent,
        on_done: DoneHandler | None = None,
        on_iteration: IterationHandler | None = None,
        on_tree_lost: TreeLostHandler | None = None,
    ) -> None:
        """Have a host process run an agent for a node; EmulationError if the description is invalid."""
        if isinstance(agent, AgentSpec):
            repeats = agent.profile is not None
            check_addresses(agent.sliced, agent.addresses)
            check_agent(agent.rank, agent.sliced, agent.data, repeats=repeats)
        elif not isinstance(agent, MemberSpec | MemoryAgent):
            raise TestbedError(
                f"{node}: a host process cannot run a {type(agent).__name__}",
                remedy="describe its agent by an AgentSpec or a MemberSpec",
            )
        self.stand_by(node)
        seat = self._seats[node] = _Seat(agent, on_done, on_iteration, on_tree_lost)
        if self._begun:
            self._arriving[node] = seat

    def stand_by(self, node: str) -> None:
        """Prepare a node's host, before `launch`, for an agent that is attached later."""
        if node not in self._namespaces:
            raise TestbedError(f"{node} has no host port", remedy="attach hosts to the fabric's NPUs")
        if self._begun and node not in self._seats:
            raise TestbedError(f"no agent stands by on {node}", remedy="call stand_by() before run()")
        self._seats.setdefault(node, _Seat())

    def restart(self, specs: Mapping[str, AgentSpec], on_iteration: IterationHandler | None = None) -> None:
        """Replace all agents; a node without an entry in `specs` has no agent from now on."""
        for node, spec in specs.items():
            self.attach(node, spec, on_iteration=on_iteration)
        for node in self._seats.keys() - specs.keys():
            self._arriving[node] = self._seats[node] = _Seat()
        self.send_orders()

    def launch(self, rate_bps: float, dilation: int, bin_ps: int, *, watched: bool) -> None:
        """Create the hosts of all nodes with an agent or on standby; arguments as of HostProcesses.launch."""
        if self._seats:
            slots = [
                HostSlot(node, self._namespaces[node], self._interface, seat.agent)
                for node, seat in self._seats.items()
            ]
            self._population.launch(slots, rate_bps, dilation, bin_ps, watched=watched)
        self._begun = True

    def go(self, start_ns: int) -> None:
        """Begin all agents at `start_ns` of the machine's monotonic clock."""
        if self._seats:
            self._population.go(start_ns)

    def send_orders(self) -> None:
        """Begin the agents attached since the last call, all at the same time."""
        if self._arriving:
            self._orders += 1
            arriving, self._arriving = self._arriving, {}
            for seat in arriving.values():
                seat.number = self._orders
            agents = {node: seat.agent for node, seat in arriving.items()}
            self._population.begin(self._orders, agents)

    def hear(self, message: tuple[Any, ...]) -> None:
        """Take a message of a host, note what it reports, and call the callback of its agent."""
        kind, node, *what = message
        if kind == "silent":
            if self.on_repath is not None:
                self.on_repath(node, *what)
            return
        seat = self._seats[node]
        if kind == "waiting":
            self._take_answer(node, *what)
            return
        if what[0] != seat.number:
            return  # the message is of an agent that has been replaced
        if kind == "tree lost":
            if seat.on_tree_lost is not None:
                seat.on_tree_lost(node, what[1])
            return
        if seat.ended:
            return  # the end of the agent has been reported
        if kind == "iteration":
            seat.log.append(what[1])
            if seat.on_iteration is not None:
                seat.on_iteration(node, len(seat.log) - 1)
            return
        seat.ended, (seat.finished_ps, seat.failed) = True, what[1:]
        if seat.failed is None and seat.on_done is not None:
            seat.on_done(node)

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        """Tell a node's agent which buckets have left a failed link or silent path, by destination CNA."""
        if self._begun and node in self._seats and self._seats[node].agent is not None:
            self._population.give(node, Reroute(lost))

    def set_level(self, node: str, level: int) -> None:
        """Set the service level of an agent's data from its next iteration on."""
        seat = self._seats[node]
        if isinstance(seat.agent, AgentSpec):  # also for an agent that has not been sent yet
            seat.agent = replace(seat.agent, transport=replace(seat.agent.transport, level=level))
        if self._begun:
            self._population.give(node, SetLevel(level))

    def ask_waiting(self, nodes: Sequence[str], tree: int, answered: Callable[[WaitingBlocks], None]) -> None:
        """Ask a tree's members for the blocks whose results they lack; call `answered` with all answers."""
        self._questions.append(_Question(tree, set(nodes), answered))
        for node in nodes:
            self._population.give(node, AskWaiting(tree))

    def _take_answer(self, node: str, tree: int, blocks: Sequence[int]) -> None:
        """Add a member's answer to the member's oldest open question about the tree."""
        question = next(each for each in self._questions if each.tree == tree and node in each.missing)
        question.missing.remove(node)
        question.blocks[node] = blocks
        if not question.missing:
            self._questions.remove(question)
            question.answered(question.blocks)

    def move_members(self, tree: int, ports: Mapping[str, TreePort], blocks: Sequence[Block]) -> None:
        """Have members leave `tree`, and send `blocks` up another tree, each by its port in `ports`."""
        for node, port in ports.items():
            self._population.give(node, MoveMember(tree, port, blocks))

    def replaced_result(self, node: str) -> Array:
        """Return the array of the tree member that was last replaced at a node; empty before `finish`."""
        if self._reports is None:
            return _NO_ARRAY
        return self._population.replaced_array(node, self._reports[node])

    @property
    def busy(self) -> bool:
        """True while an agent still has something to do."""
        return any(seat.agent is not None and not seat.ended for seat in self._seats.values())

    @property
    def received_bytes(self) -> int:
        """Bytes of data received by all hosts together."""
        return self._population.received_bytes if self._begun and self._seats else 0

    def __len__(self) -> int:
        return len(self._seats)

    def finish(self) -> Reports:
        """Stop all hosts, and return their reports."""
        reports = self._population.reports()
        self._reports = reports.hosts
        return reports

    def outcome(self, node: str) -> Ended | MemoryAgent:
        """Return the outcome of a node's agent; before `finish`, with no array and the latest counts."""
        if self._reports is None:
            seat = self._seats[node]
            stats, finished_ps = self._population.noted(node) if self._begun else (NOTHING, None)
            if seat.ended:
                finished_ps = seat.finished_ps
            return Ended(_NO_ARRAY, stats, finished_ps, _failure(seat.failed), log=seat.log)
        report = self._reports[node]
        if report.agent is not None:
            return report.agent
        array, failed = self._population.array(node, report), _failure(report.failed)
        return Ended(array, report.stats, report.finished_ps, failed, report.times, report.log)


def _failure(failed: Failure | LostBlock | LostMemory | None) -> Failure | LostBlock | None:
    """Narrow the type of a failure: it belongs to an agent of a collective, not of a memory pool."""
    assert not isinstance(failed, LostMemory)
    return failed
