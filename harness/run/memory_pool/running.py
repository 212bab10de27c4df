# SPDX-License-Identifier: Apache-2.0
"""Agents of a memory pool on a running testbed, and the check of all values and copies at the end."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from statistics import mean
from typing import final

from emulation.testbed import Testbed
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.memory.agent import MemoryAgent, Program, make_memory_agents
from emulation.traffic.memory.borrower import Borrower
from emulation.traffic.memory.memory import ATOMIC_BYTES
from emulation.traffic.memory.requester import RequesterParameters
from harness.run.memory_pool.plan import PoolPlan, PoolReport

__all__ = ["PoolRun"]


@final
class PoolRun:
    """The agents of a memory pool in a run, with the interface of harness.run.jobs.running.Jobs."""

    def __init__(self, plan: PoolPlan, testbed: Testbed, seed: int) -> None:
        self._plan = plan
        self._testbed = testbed
        settings = plan.settings
        program = Program(
            settings.operations,
            settings.weights,
            seed,
            RequesterParameters(window=settings.window, timeout_ps=round(settings.timeout_us * 10**6)),
        )
        self._agents = make_memory_agents(
            plan.borrowers,
            plan.lenders,
            plan.directory,
            program,
            lent_bytes=settings.lent_kib << 10,
        )

    @property
    def all(self) -> tuple[()]:
        """Empty: a memory pool has no jobs."""
        return ()

    def begin(self) -> None:
        """Attach the agents: lenders first, so that they can answer the first requests of borrowers."""
        for address in sorted(self._agents, key=lambda address: address in self._plan.borrowers):
            self._testbed.attach(self._plan.names[address], self._agents[address])

    def demands(self) -> dict[str, dict[tuple[str, str], int]]:
        """Return an empty mapping, because pools ask for no circuits."""
        return {}

    def resume(self, places: Mapping[str, str]) -> None:
        """Do nothing, because fabrics with pools have no spares."""

    @property
    def busy(self) -> bool:
        """True while a borrower has unfinished operations."""
        return self._testbed.busy

    @property
    def holders(self) -> list[str]:
        """Names of all nodes of the pool."""
        return list(self._plan.names.values())

    @property
    def stats(self) -> list[AgentStats]:
        """Statistics of all agents."""
        return [agent.stats for agent in self._ended().values()]

    def _ended(self) -> dict[int, MemoryAgent]:
        """Return the agents by address, fetched from the testbed, where they may run in other processes."""
        for address, name in self._plan.names.items():
            agent = self._testbed.outcome(name)
            assert isinstance(agent, MemoryAgent)
            self._agents[address] = agent
        return self._agents

    def report(self, now_ps: int) -> PoolReport:
        """Check all values and copies, and return the outcome."""
        self._ended()
        faults = {address: _first_fault(self, agent) for address, agent in self._borrowers()}
        shared = _counter_fault(self)
        reports = [agent.borrower.report for _, agent in self._borrowers() if agent.borrower is not None]
        latencies = [latency for report in reports for latency in report.latency_ps]
        ends = [agent.finished_ps for _, agent in self._borrowers()]
        gave_up = next((self.words(agent) for _, agent in self._borrowers() if agent.failed), "")
        correct = 0 if shared else sum(not fault for fault in faults.values())
        return PoolReport(
            end_ps=max(now_ps if end is None else end for end in ends),
            borrowers=len(faults),
            correct=correct,
            first_wrong=gave_up or shared or next(filter(None, faults.values()), ""),
            gave_up=gave_up,
            checksum=zlib.crc32(b"".join(agent.memory.content for agent in self._agents.values())),
            operations=sum(report.operations for report in reports),
            latency_ps=mean(latencies) if latencies else 0.0,
            slowest_ps=max(latencies, default=0),
            lent_bytes=sum(self._plan.directory.used.values()),
            moved_pages=sum(report.moved_pages for report in reports),
            lost_lenders=len({lender for report in reports for lender in report.lost_lenders}),
        )

    def words(self, agent: MemoryAgent) -> str:
        """Return a sentence on a failed borrower: its name, the time and the reason."""
        assert agent.failed is not None
        name = self._plan.names[agent.address]
        return f"{name} gave up at {agent.failed.at_ps / 10**6:g} us: {agent.failed.why}"

    def agent(self, address: int) -> MemoryAgent:
        """Return the agent of the node with an address (CNA)."""
        return self._agents[address]

    @property
    def plan(self) -> PoolPlan:
        """The plan of the pool."""
        return self._plan

    def _borrowers(self) -> list[tuple[int, MemoryAgent]]:
        return [(address, self._agents[address]) for address in self._plan.borrowers]


def _first_fault(run: PoolRun, agent: MemoryAgent) -> str:
    """Return the first error in a borrower's values, pages and messages, or '' if all are correct."""
    borrower = agent.borrower
    assert borrower is not None
    name = run.plan.names[agent.address]
    if borrower.report.wrong:
        return f"{name}: {borrower.report.first_wrong}"
    if not agent.done:
        return f"{name} has operations without a response"
    page = _wrong_page(run, borrower)
    if page is not None:
        return f"{name}: a copy of page {page} differs from the stored values"
    following = [other for other in run.plan.borrowers if run.agent(other).received.get(agent.address)]
    for other in following:
        if run.agent(other).received[agent.address] != borrower.report.sent:
            return f"{name}: {run.plan.names[other]} received other messages than {name} sent"
    if borrower.report.sent and not following:
        return f"{name}: no borrower received its messages"
    return ""


def _wrong_page(run: PoolRun, borrower: Borrower) -> int | None:
    size = run.plan.directory.page_bytes
    for page in range(len(borrower.image) // size):
        image = borrower.image[page * size : (page + 1) * size]
        for lender, first in borrower.living(page):
            if run.agent(lender).memory.content[first : first + size] != image:
                return page
    return None


def _counter_fault(run: PoolRun) -> str:
    """Return the first error in the shared counters, or '' if there is none.

    A counter with n additions must have returned each value from 0 to n - 1 once, and must contain n.
    """
    directory = run.plan.directory
    memory = run.agent(directory.counter_lender).memory.content
    for counter in range(directory.counters):
        values: list[int] = []
        for address in run.plan.borrowers:
            borrower = run.agent(address).borrower
            assert borrower is not None
            values += borrower.report.counted.get(counter, [])
        word = memory[counter * ATOMIC_BYTES : (counter + 1) * ATOMIC_BYTES]
        if sorted(values) != list(range(len(values))) or int.from_bytes(word, "little") != len(values):
            content = int.from_bytes(word, "little")
            return f"counter {counter} contains {content} after {len(values)} additions, or repeated a value"
    return ""
