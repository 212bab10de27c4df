# SPDX-License-Identifier: Apache-2.0
"""The host of a node that borrows memory, lends memory, or does both, sans-IO."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import final

from emulation.traffic.frames.values import VL_DATA, VL_RESPONSE
from emulation.traffic.host.participant import Output
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.host.transport import NEVER
from emulation.traffic.memory.borrower import Borrower, Mix
from emulation.traffic.memory.extents import Directory
from emulation.traffic.memory.memory import Memory
from emulation.traffic.memory.requester import Requester, RequesterParameters
from emulation.traffic.memory.responder import Responder
from emulation.traffic.memory.wire import MemoryFields, read_frame

__all__ = ["LostMemory", "MemoryAgent", "Program", "make_memory_agents"]


@final
@dataclass(frozen=True, slots=True)
class LostMemory:
    """Fatal failure of a borrower: its CNA, the reason and the time."""

    node: int
    why: str
    at_ps: int

    def __str__(self) -> str:
        return f"the borrower of address {self.node:#06x} gave up at {self.at_ps / 10**6:g} µs: {self.why}"


@final
@dataclass(frozen=True, slots=True)
class Program:
    """Program of each borrower: a number of operations of a mix, drawn from a seed."""

    operations: int
    mix: Mix
    seed: int = 1
    parameters: RequesterParameters = field(default_factory=RequesterParameters)


@final
class MemoryAgent:
    """A node of a pool: it lends `memory`, and runs the program `borrower`, None if it only lends.

    `finished_ps` is the time at which the program ended, None before, 0 without a program. `received` has the
    messages from each sender, in their order.
    """

    def __init__(self, address: int, memory: Memory, borrower: Borrower | None = None) -> None:
        self.address = address
        self.memory = memory
        self.borrower = borrower
        self.on_done: Callable[[], None] | None = None
        self.failed: LostMemory | None = None
        self.finished_ps: int | None = 0 if borrower is None else None
        self.received: dict[int, list[bytes]] = {}
        self._responders: dict[int, Responder] = {}
        self._requesters: Mapping[int, Requester] = {}
        self._junk: Counter[str] = Counter()
        self._first_psn = 0

    @classmethod
    def borrowing(
        cls, address: int, memory: Memory, program: Program, directory: Directory, mailbox: int | None
    ) -> "MemoryAgent":
        """Return the agent of a node that borrows, and perhaps lends; `mailbox` receives its messages."""
        peers = {lender for page in directory.pages[address] for lender, _ in page.copies}
        if directory.counters:
            peers.add(directory.counter_lender)
        if mailbox is not None:
            peers.add(mailbox)
        requesters = {
            peer: Requester(address, peer, program.parameters, lb=16 * number)
            for number, peer in enumerate(sorted(peers))
        }
        borrower = Borrower(
            address,
            directory,
            requesters,
            operations=program.operations,
            mix=program.mix,
            seed=program.seed,
            mailbox=mailbox,
        )
        agent = cls(address, memory, borrower)
        agent._requesters = requesters
        agent._first_psn = program.parameters.first_psn
        return agent

    @property
    def done(self) -> bool:
        """True once the program has ended."""
        return self.finished_ps is not None

    @property
    def rank(self) -> int:
        """Number of the node in reports: its address."""
        return self.address

    @property
    def stats(self) -> AgentStats:
        """Counts of requests and responses.

        `duplicates` counts repeated or late requests, `acks_sent` responses, `acks_received` late responses.
        """
        requesters, responders = self._requesters.values(), self._responders.values()
        answered = sum(responder.executed + responder.repeated for responder in responders)
        return AgentStats(
            sent=sum(requester.sent for requester in requesters),
            retransmitted=sum(requester.retransmitted for requester in requesters),
            received=sum(responder.executed for responder in responders),
            duplicates=sum(responder.repeated + responder.stale for responder in responders),
            acks_sent=answered,
            acks_received=sum(requester.late for requester in requesters),
            rtt_ps=max((requester.rtt_ps for requester in requesters), default=0),
            junk=dict(sorted(self._junk.items())),
        )

    def start(self, now: int) -> Output:
        """Begin the program."""
        return self._go_on([], now)

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Handle a request or a response; other frames are counted as junk and dropped."""
        fields = read_frame(frame)
        if isinstance(fields, str):
            self._junk[fields] += 1
        elif fields.dcna != self.address:
            self._junk["connection"] += 1
        elif not fields.response:
            response = self._responder(fields.scna).on_request(fields)
            return self._go_on([] if response is None else [(response, VL_RESPONSE)], now)
        else:
            self._respond(fields, now)
        return self._go_on([], now)

    def on_timer(self, now: int) -> Output:
        """Retransmit requests with expired timers, and give up silent lenders."""
        out: list[tuple[bytes, int]] = []
        for peer, requester in self._requesters.items():
            if not requester.failed and requester.timer <= now:
                out += ((frame, VL_DATA) for frame in requester.on_timer(now))
                if requester.failed and self.borrower is not None:
                    self.borrower.give_up(peer, now)
        return self._go_on(out, now)

    def _responder(self, requester: int) -> Responder:
        if requester not in self._responders:
            inbox = self.received.setdefault(requester, [])
            self._responders[requester] = Responder(self.memory, inbox.append, self._first_psn)
        return self._responders[requester]

    def _respond(self, fields: MemoryFields, now: int) -> None:
        requester = self._requesters.get(fields.scna)
        if requester is None or self.borrower is None:
            self._junk["connection"] += 1
            return
        ended = requester.on_response(fields, now)
        if ended is not None:
            step, status, data = ended
            self.borrower.responded(fields.scna, step, status, data, now)

    def _go_on(self, out: list[tuple[bytes, int]], now: int) -> Output:
        borrower = self.borrower
        if borrower is not None and self.finished_ps is None and self.failed is None:
            out += ((frame, VL_DATA) for frame in borrower.pump(now))
            if borrower.lost:
                self.failed = LostMemory(self.address, borrower.lost, now)
            elif borrower.done:
                self.finished_ps = now
                if self.on_done is not None:
                    self.on_done()
        due = min((requester.timer for requester in self._requesters.values()), default=NEVER)
        return out, None if due == NEVER or self.failed else due


def make_memory_agents(
    borrowers: Sequence[int],
    lenders: Sequence[int],
    directory: Directory,
    program: Program,
    *,
    lent_bytes: int,
    messages: bool = True,
) -> dict[int, MemoryAgent]:
    """Return the agents of a pool by address; each borrower sends messages to the next borrower in a ring.

    Every borrower runs `program` on its pages in `directory`; every lender lends `lent_bytes`. Without
    `messages`, or with a single borrower, no messages are sent.
    """
    ring = len(borrowers) > 1 and messages and program.mix.message > 0
    following = dict(zip(borrowers, (*borrowers[1:], borrowers[0]), strict=True)) if ring else {}
    agents: dict[int, MemoryAgent] = {}
    for address in dict.fromkeys((*borrowers, *lenders)):
        memory = Memory(lent_bytes if address in lenders else 0)
        if address in directory.pages:
            make = partial(MemoryAgent.borrowing, program=program, directory=directory)
            agents[address] = make(address, memory, mailbox=following.get(address))
        else:
            agents[address] = MemoryAgent(address, memory)
            agents[address]._first_psn = program.parameters.first_psn
    return agents
