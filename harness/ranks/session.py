# SPDX-License-Identifier: Apache-2.0
"""A running fabric in virtual time, on which operations begin and end."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import final

from emulation._engine import Agent
from emulation.control.loop import ControlLoop
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.faults import Faults
from emulation.traffic.frames.values import ElementType
from emulation.traffic.frames.wire import PSN_MASK
from emulation.traffic.host.agents import Parts
from emulation.traffic.host.concurrent import ConcurrentAgents
from emulation.traffic.host.path_choice import PathShares
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.host.transport import TransportParameters
from harness.ranks.calls import Call
from harness.ranks.traffic import Traffic, traffic_of
from harness.run.boot import Booted, booted
from harness.run.collectives.connections import connections_of, path_shares
from harness.run.prepare import Prepared
from harness.run.runner import control_loop
from harness.run.testbeds import Embedded, in_one_partition

__all__ = ["End", "FabricSession", "Operation", "opened"]

_QUEUES = 1 << 16
# Width of the bins in which delivered bytes are counted; only their sum is read.
_BIN_PS = 10**9
_MOST_KEPT = 128  # Largest number of cached traffics.
# The first sequence numbers of successive operations are this far apart, so that a late acknowledgement of an
# earlier operation matches no sequence number of a later one.
_PSN_STRIDE = 0x15555


@final
@dataclass(slots=True, eq=False)
class Operation:
    """An operation of a group of ranks under way on the fabric, such as a collective.

    Attributes:
        members: Node of each member.
        calls: Call of each member.
        traffic: Slices of the operation.
        first_queue: First queue number of the operation.
        queues: Number of queue numbers.
        agents: Agent of each member.
        open: Indices of the members that have neither a result nor a failure.
    """

    members: tuple[str, ...]
    calls: Sequence[Call]
    traffic: Traffic
    first_queue: int
    queues: int
    agents: list[Agent] = field(default_factory=list)
    open: set[int] = field(default_factory=set)


@final
@dataclass(frozen=True, slots=True)
class End:
    """Event: a member has finished its part of an operation, or failed.

    `result` is the member's result. If the member's agent failed, `lost_member` is the member that no longer
    answered the agent.
    """

    operation: Operation
    member: int
    result: bytes = b""
    lost_member: int | None = None


@final
@dataclass(slots=True)
class _Kept:
    """Values shared by operations with equal members and sizes.

    Attributes:
        traffic: Traffic of an operation.
        parts: Makes the engine's description of each rank.
        transport: Transport of an operation, with its connections.
        queues: Number of queue numbers that an operation occupies at each host.
    """

    traffic: Traffic
    parts: Parts
    transport: TransportParameters
    queues: int


@final
class FabricSession:
    """A booted fabric whose nodes can take part in several operations at a time.

    `nodes` take part in operations; `seed` is the seed for the choice of paths of connections.
    """

    def __init__(
        self,
        ready: Prepared,
        up: Booted[EmbeddedTestbed],
        nodes: Sequence[str],
        seed: int,
        control: ControlLoop,
        faults: Faults,
    ) -> None:
        self._ready, self._seed = ready, seed
        self.testbed = up.testbed
        self.control, self.faults = control, faults
        self._kept: dict[Hashable, _Kept] = {}
        self._under_way: dict[int, Operation] = {}  # by `first_queue`
        self._ends: list[End] = []
        self._count = self._next_queue = 0
        self._hosts = {node: ConcurrentAgents(ready.fabric.node(node).address) for node in nodes}
        for node, host in self._hosts.items():
            host.on_end = partial(self._agent_ended, node)
            self.testbed.attach(node, host)

    @property
    def now_ps(self) -> int:
        """Virtual time of the fabric."""
        return self.testbed.now_ps

    @property
    def stats(self) -> dict[str, AgentStats]:
        """Counts of frames and retransmissions of all agents, by node."""
        return {node: host.stats for node, host in self._hosts.items()}

    def begin(self, members: tuple[str, ...], calls: Sequence[Call]) -> Operation:
        """Begin an operation at the present virtual time; `members[i]` is the node of `calls[i]`."""
        self._remove_ended()
        kept = self._kept_for(members, calls)
        first = self._free_queues(kept.queues)
        self._count += 1
        operation = Operation(members, calls, kept.traffic, first, kept.queues, open={*range(len(members))})
        self._under_way[first] = operation
        transport = replace(kept.transport, first_queue=first, first_psn=self._count * _PSN_STRIDE & PSN_MASK)
        for rank, (node, call) in enumerate(zip(members, calls, strict=True)):
            agent = self._hosts[node].begin(
                kept.parts,
                rank,
                kept.traffic.array(rank, call),
                transport,
                dtype=ElementType(call.dtype),
                job=self._count % 0xFFFF + 1,
                queues=kept.queues,
            )
            operation.agents.append(agent)
        for node in members:
            self.testbed.agents.start(node)
        return operation

    def abort(self, operation: Operation) -> None:
        """Remove the agents of an operation; `run` then reports no more ends of the operation's members."""
        operation.open.clear()
        self._remove(operation)
        self._ends = [end for end in self._ends if end.operation is not operation]

    def run(self, until_ps: int | None) -> list[End]:
        """Advance virtual time until a member ends its part of an operation, at most to `until_ps`.

        Returns all ends at this time; the list is empty if `until_ps` comes first, or no event is left.
        """
        if not self._ends and self.testbed.run(until_ps) and until_ps is not None:
            # No event is left, and virtual time advances with events only: add an empty event at `until_ps`.
            self.testbed.at(until_ps, lambda: None)
            self.testbed.run(until_ps)
        ends, self._ends = self._ends, []
        return ends

    def run_to(self, time_ps: int) -> None:
        """Advance virtual time to a time; ends until then are forgotten."""
        while self.now_ps < time_ps:
            self.run(time_ps)

    def _agent_ended(self, node: str, first_queue: int) -> None:
        operation = self._under_way[first_queue]
        rank = operation.members.index(node)
        operation.open.discard(rank)
        failure = operation.agents[rank].failure()
        if failure is not None:
            end = End(operation, rank, lost_member=failure[0])
        else:
            array = operation.agents[rank].array()
            end = End(operation, rank, operation.traffic.result(rank, operation.calls[rank], array))
        self._ends.append(end)
        self.testbed.interrupt()

    def _remove_ended(self) -> None:
        """Remove operations whose members all have results and whose frames are all acknowledged."""
        for operation in [*self._under_way.values()]:
            if not operation.open and all(agent.done for agent in operation.agents):
                self._remove(operation)

    def _remove(self, operation: Operation) -> None:
        if self._under_way.pop(operation.first_queue, None) is not None:
            for node in operation.members:
                self._hosts[node].remove(operation.first_queue)

    def _free_queues(self, count: int) -> int:
        for first in (self._next_queue, *range(0, _QUEUES, count)):
            taken = any(
                first < other + operation.queues and other < first + count
                for other, operation in self._under_way.items()
            )
            if not taken and first + count <= _QUEUES:
                self._next_queue = first + count
                return first
        raise AssertionError(f"{len(self._under_way)} operations occupy all {_QUEUES} queue numbers")

    def _kept_for(self, members: tuple[str, ...], calls: Sequence[Call]) -> _Kept:
        sizes = tuple(call.sent for call in calls)
        key = (members, calls[0].form, sizes)
        kept = self._kept.pop(key, None) or self._make(members, calls)
        self._kept[key] = kept
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return kept

    def _make(self, members: tuple[str, ...], calls: Sequence[Call]) -> _Kept:
        ready = self._ready
        wanted = ready.variant.every_job[0].collective
        traffic = traffic_of(ready.fabric, members, calls, wanted)
        settings, most = ready.variant.transport.connections, 1
        if settings is None:
            transport = replace(ready.transport, paths=self._paths(members))
        else:
            chosen = connections_of(ready.plan, traffic.sliced.schedule, members, settings, self._seed)
            transport = replace(ready.transport, connections=chosen)
            most = max(map(len, chosen.lbs.values()), default=1)
        addresses = [ready.fabric.node(name).address for name in members]
        spec = AgentSpec(0, traffic.sliced, (), addresses, transport)
        return _Kept(traffic, Parts(spec), transport, len(members) * most)

    def _paths(self, members: tuple[str, ...]) -> dict[tuple[int, int], PathShares] | None:
        return path_shares(self._ready.plan, members)


@contextmanager
def opened(ready: Prepared, nodes: Sequence[str], seed: int) -> Iterator[FabricSession]:
    """Boot the fabric of a variant with its faults and controllers, yield a session, and stop the fabric.

    Args:
        ready: The prepared variant.
        nodes: Nodes that take part in operations.
        seed: Seed for the choice of paths of connections.
    """
    choice = in_one_partition(Embedded())
    testbed = choice.make(ready, _BIN_PS, seed)
    assert isinstance(testbed, EmbeddedTestbed)
    marking, ports = ready.variant.link.marking, ready.port_marking
    with booted(testbed, ready.plan, None, ready.own, ready.updates, marking, port_marking=ports) as up:
        control = control_loop(ready, up, None)
        faults = Faults(testbed)
        session = FabricSession(ready, up, nodes, seed, control, faults)
        faults.on_power = control.set_power
        faults.schedule(ready.faults)
        control.start(lambda: True)
        yield session
