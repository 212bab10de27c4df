# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU in a collective or a graph, sans-IO: frames and the time in, frames and deadlines out.

It never reads a clock or opens a socket; a testbed drives it. Its slices: tests.oracle.slices.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from emulation.traffic.frames.values import VL_RESPONSE
from emulation.traffic.host.checks import check_addresses, check_agent
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.participant import Output
from emulation.traffic.host.reduction import Reduction
from emulation.traffic.host.stats import AgentStats, Failure
from emulation.traffic.host.transport import NEVER, TransportParameters
from emulation.traffic.schedule.data import Array, element_type
from emulation.traffic.schedule.schedule import SlicedTraffic
from tests.oracle.codec import is_marked, marked_buckets, scan, skipped_frames
from tests.oracle.connections import Peer, connect
from tests.oracle.paths.sender import PathSender
from tests.oracle.paths.spray import RoundTrips
from tests.oracle.reduction import ReductionUnit
from tests.oracle.slices import Slices

__all__ = ["Agent"]

_DATA = 1


class Agent(Slices):
    """A rank of a collective; `addresses[r]` is the CNA of rank r.

    `result` is the rank's array, initially its input. `finished_ps` is the time at which the result became
    final, None before; `done` is True once all sent frames are acknowledged as well, and `on_done` is called
    then. `failed` is set if a peer stays silent for too long; the agent then sends nothing more. Before that
    it calls `on_repath` with the peer's address and the buckets whose paths are silent: it asks for others.
    Without `reduction`, arrivals take no time and no memory traffic is counted. Agents of one NPU share a
    `unit`; its counts are then not in `stats`.
    """

    def __init__(
        self,
        rank: int,
        sliced: SlicedTraffic,
        data: Array,
        addresses: Sequence[int],
        *,
        job: int = 1,
        parameters: TransportParameters | None = None,
        reduction: Reduction | None = None,
        unit: ReductionUnit | None = None,
    ) -> None:
        parameters = parameters or TransportParameters()
        check_addresses(sliced, addresses)
        check_agent(rank, sliced, data)
        self.failed: Failure | None = None
        self.on_done: Callable[[], None] | None = None
        self.on_repath: Callable[[int, frozenset[int]], None] | None = None
        self.address = addresses[rank]
        self._job = job
        self._kind = int(element_type(data))
        self._junk: Counter[str] = Counter()
        self.log: Sequence[IterationReport] = ()  # it has no iterations
        self._started = False
        self._own_unit = None if reduction is None or unit is not None else ReductionUnit(reduction)
        self._trips = RoundTrips()
        plans = sliced.plans_of(rank)
        peers = connect(rank, plans, addresses, parameters, job=job, dtype=self._kind, trips=self._trips)
        self._peers = {addresses[other]: peer for other, peer in peers.items()}
        super().__init__(rank, sliced, data, peers, level=parameters.level, unit=unit or self._own_unit)

    @property
    def done(self) -> bool:
        """True once the result is final and all sent frames are acknowledged."""
        return self.finished_ps is not None and not any(
            peer.left or any(sender.in_flight for sender in peer.senders) for peer in self._peers.values()
        )

    @property
    def longest(self) -> int:
        """Largest number of frames that still have to be sent to a peer."""
        return max((peer.left for peer in self._peers.values()), default=0)

    @property
    def stats(self) -> AgentStats:
        """Counts up to now."""
        senders = [sender for peer in self._peers.values() for sender in peer.senders]
        receivers = [receiver for peer in self._peers.values() for receiver in peer.receivers]
        return AgentStats(
            sent=sum(sender.sent for sender in senders),
            retransmitted=sum(sender.retransmitted for sender in senders),
            received=sum(receiver.received for receiver in receivers),
            duplicates=sum(receiver.duplicates for receiver in receivers),
            acks_sent=sum(receiver.acks for receiver in receivers),
            acks_received=sum(sender.acks for sender in senders),
            rtt_ps=max((sender.rtt_ps for sender in senders), default=0),
            junk=dict(sorted(self._junk.items())),
            marked=sum(receiver.marked for receiver in receivers),
            reduction=None if self._own_unit is None else self._own_unit.stats,
        )

    def start(self, now: int) -> Output:
        """Begin to send. Frames that arrive before are taken and acknowledged, but no data leave."""
        self._started = True
        if self._tasks is not None:
            self._tasks.start(now)
        if not self._open and not (self._tasks and self._tasks.computing):
            self.finished_ps = now
        out: list[tuple[bytes, int]] = []
        if self._reducer is not None:
            self._reducer.begin(now)
            self._deadline = min(self._deadline, self._reducer.due)
        self._work(now, out)
        self._tell()
        return out, None if self._deadline == NEVER else self._deadline

    def _tell(self) -> None:
        if self.on_done is not None and self.done:
            tell, self.on_done = self.on_done, None
            tell()

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Take a frame; a frame that is malformed or for another agent is counted and dropped."""
        out: list[tuple[bytes, int]] = []
        if self.failed:
            return out, None
        fields = scan(frame)
        if isinstance(fields, str):
            self._junk[fields] += 1
        else:
            peer = self._peers.get(fields[2])
            number = -1 if peer is None or fields[3] != self.address else peer.number(fields)
            if peer is None or number < 0:
                self._junk["connection"] += 1
            elif fields[0] == _DATA:
                self._on_data(peer, number, fields, frame, now, out)
            else:
                sender = peer.senders[number]
                measured = self._trips.peak
                marks, skipped = marked_buckets(frame), skipped_frames(frame)
                moved = sender.on_ack(fields[6], fields[8], now, fields[1], marks, skipped)
                if isinstance(sender, PathSender):
                    if sender.lost:
                        out.extend((again, self._vl) for again in sender.resend(now))
                    if not measured and self._trips.peak:
                        self._rearm(now)
                if moved and peer.active and not peer.waiting:
                    peer.waiting = True
                    self._ready.append(peer)
                if sender.timer < self._deadline:  # the backoff has ended
                    self._deadline = sender.timer
            if self._started:
                self._work(now, out)
            if self._reducer is not None and self._reducer.due < self._deadline:
                self._deadline = self._reducer.due
            if self.finished_ps is not None:
                self._tell()
        deadline = self._deadline
        return out, None if deadline == NEVER else deadline

    @property
    def times(self) -> list[tuple[int, int]]:
        """Time at which each task opened and at which it ended, in ps, -1 before; empty without tasks."""
        return [] if self._tasks is None else [(opened, ended) for opened, ended in self._tasks.times]

    def _rearm(self, now: int) -> None:
        """Shorten all timers after the first round trip that the agent has measured."""
        for sender in (sender for peer in self._peers.values() for sender in peer.senders):
            if isinstance(sender, PathSender):
                sender.rearm(now)
                self._deadline = min(self._deadline, sender.timer)

    def on_reroute(self, routes: Mapping[int, frozenset[int]], now: int) -> Output:
        """Ask what has arrived by buckets whose route has changed, by destination CNA, and say so as well."""
        out: list[tuple[bytes, int]] = []
        if self.failed:
            return out, None
        for address, buckets in routes.items():
            peer = self._peers.get(address)
            for sender in peer.senders if peer is not None else ():
                if isinstance(sender, PathSender):
                    sender.spray.health.split(buckets)
                    out.extend((frame, self._vl) for frame in sender.rerouted(buckets, now))
                    self._deadline = min(self._deadline, sender.timer)
            for receiver in peer.receivers if peer is not None else ():
                if receiver.last_by(buckets):
                    out.append((receiver.ack(now), VL_RESPONSE))
        return out, None if self._deadline == NEVER else self._deadline

    def on_timer(self, now: int) -> Output:
        """Send the acknowledgements and retransmissions that are due, and what the reduction has freed."""
        out: list[tuple[bytes, int]] = []
        if self.failed:
            return out, None
        deadline = NEVER
        if self._reducer is not None:
            self._reducer.run(now)
            if self._ready and self._started:
                self._pump(now, out)
            deadline = self._reducer.due
        for address, peer in self._peers.items():
            for receiver in peer.receivers:
                if receiver.ack_at <= now:
                    out.append((receiver.ack(now), VL_RESPONSE))
                deadline = min(deadline, receiver.ack_at)
            for sender in peer.senders:
                if sender.timer <= now:
                    out.extend((frame, self._vl) for frame in sender.on_timeout(now))
                    if sender.failed_psn is not None:
                        self.failed = Failure(self.rank, peer.rank, sender.failed_psn, now)
                        self._deadline = NEVER
                        return [], None
                    if isinstance(sender, PathSender):
                        self._ask(address, sender.silent_buckets())
                deadline = min(deadline, sender.timer)
        self._deadline = deadline
        if self._tasks is not None and self._started:
            self._work(now, out)
        if (self._tasks is not None or self._reducer is not None) and self.finished_ps is not None:
            self._tell()
        return out, None if self._deadline == NEVER else self._deadline

    def _on_data(
        self,
        peer: Peer,
        number: int,
        fields: tuple[int, ...],
        frame: bytes,
        now: int,
        out: list[tuple[bytes, int]],
    ) -> None:
        _, flags, _, _, _, _, psn, lb, job, op, kind, step, _, offset, length = fields
        if job != self._job or kind != self._kind:
            self._junk["job"] += 1
            return
        index = self._slice_at.get(offset, -1)
        if index < 0 or self._size[index] != length:
            self._junk["range"] += 1
            return
        arrival = self._plans[self._cell[index]][0].get(step)
        if arrival is None or arrival[1].op != op or peer.rank not in arrival[1].sources:
            self._junk["unexpected"] += 1
            return
        receiver = peer.receivers[number]
        new = receiver.accept(psn, flags, now)
        if new:
            self._arrived(index, arrival, peer.rank, frame, now)
        elif new is None:
            self._junk["psn"] += 1
            return
        else:
            self._ask(fields[2], receiver.silent_buckets())
        if is_marked(frame):
            receiver.note_mark(lb)
        if receiver.ack_at <= now:
            out.append((receiver.ack(now), VL_RESPONSE))
        elif receiver.ack_at < self._deadline:
            self._deadline = receiver.ack_at

    def _ask(self, address: int, silent: frozenset[int]) -> None:
        if silent and self.on_repath is not None:
            self.on_repath(address, silent)
