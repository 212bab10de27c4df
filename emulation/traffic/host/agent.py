# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU in a collective or a graph, sans-IO: frames and the time in, frames and deadlines out.

It never reads a clock or opens a socket; a testbed drives it. The state of a slice is two numbers: the phases
of its plan that have been applied, and its released sends that have not left yet. In a traffic graph a slice
also waits for the task of its send or phase to open.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter

import numpy as np

from emulation.traffic.frames.values import VL_RESPONSE, Combine
from emulation.traffic.frames.wire import DATA_HEADER_BYTES, scan
from emulation.traffic.host.checks import check_agent
from emulation.traffic.host.connections import Peer, connect
from emulation.traffic.host.gate import StepGate
from emulation.traffic.host.path_sender import PathSender
from emulation.traffic.host.reducer import Reducer
from emulation.traffic.host.reduction import Reduction, ReductionUnit
from emulation.traffic.host.spray import RoundTrips
from emulation.traffic.host.stats import AgentStats, Failure
from emulation.traffic.host.tasks import Progress
from emulation.traffic.host.transport import NEVER, TransportParameters
from emulation.traffic.schedule.data import DTYPES, Array, element_type, fold
from emulation.traffic.schedule.schedule import CellPlan, Phase, Send, SlicedTraffic

__all__ = ["Agent", "Output"]

Output = tuple[list[tuple[bytes, int]], int | None]
"""Frames to send, each with its VL, and the time in ps at which to call `on_timer`; None for never."""

_DATA = 1
_COPY = Combine.COPY
_ITEM_BYTES = 4


class _Queue:
    """Slices of the same step, operation and task that are ready for a peer; None: for the rank itself."""

    __slots__ = ("left", "op", "peer", "shift", "slices", "step", "task")

    def __init__(self, peer: Peer | None, send: Send) -> None:
        self.peer = peer
        self.task = send.task
        self.step = send.step
        self.op = int(send.op)
        self.shift = send.shift * _ITEM_BYTES
        self.slices: deque[int] = deque()
        self.left = 0  # slices that have not left yet, ready or not


_left = attrgetter("left")
_Plan = tuple[dict[int, tuple[int, Phase, int]], tuple[tuple[_Queue, ...], ...], tuple[Phase, ...]]


class Agent:
    """A rank of a collective; `addresses[r]` is the CNA of rank r.

    `result` is the rank's array, initially its input. `finished_ps` is the time at which the result became
    final, None before; `done` is True once all sent frames are acknowledged as well, and `on_done` is called
    then. `failed` is set if a peer stays silent for too long; the agent then sends nothing more. Before that
    it calls `on_silence` with the peer's address and the buckets whose paths are silent: it asks for others.
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
        check_agent(rank, sliced, data, addresses)
        # Creates an equal agent in its initial state, for a testbed that runs it in another process.
        self.again = partial(
            Agent, rank, sliced, data, addresses, job=job, parameters=parameters, reduction=reduction
        )
        self.rank = rank
        self.failed: Failure | None = None
        self.on_done: Callable[[], None] | None = None
        self.on_silence: Callable[[int, frozenset[int]], None] | None = None
        self.finished_ps: int | None = None
        self.result: Array = data.astype(DTYPES[element_type(data)], copy=True)
        self._bytes = self.result.data.cast("B")
        self._dtype = self.result.dtype
        self.address = addresses[rank]
        self._job = job
        self._vl = 2 * parameters.level
        self._kind = int(element_type(data))
        self._junk: Counter[str] = Counter()
        self._deadline = NEVER  # at or before the first timer; if before, on_timer finds nothing to do
        self._ready: deque[Peer] = deque()
        table = sliced.table_of(rank)  # agents may share it, and never change it
        self._offset = table.offset
        self._size = table.size
        self._cell = table.cell
        self._slice_at = table.at
        self._applied = [0] * len(table.offset)
        self._unsent = [0] * len(table.offset)
        self._held: dict[tuple[int, int], dict[int, bytes]] = {}  # (slice, step): frames by source
        self._blocked: set[int] = set()  # slices that wait for earlier sends to leave
        self._queues: dict[Send, _Queue] = {}
        self._started = False
        self._open = 0  # phases not applied yet, over all slices
        self._own_unit = None if reduction is None or unit is not None else ReductionUnit(reduction)
        unit = unit or self._own_unit
        self._reducer = None if unit is None else self._make_reducer(unit)
        tasks = sliced.tasks_of(rank)
        self._tasks = Progress(tasks) if tasks else None
        self._local: deque[tuple[int, _Queue]] = deque()  # slices to copy inside the array
        plans = sliced.plans_of(rank)
        self._trips = RoundTrips()
        self._by_rank = connect(
            rank, plans, addresses, parameters, job=job, dtype=self._kind, trips=self._trips
        )
        self._peers = {addresses[other]: peer for other, peer in self._by_rank.items()}
        # Many cells share a plan object.
        distinct = {id(plan): plan for plan in plans}
        compiled = {key: self._compile(plan) for key, plan in distinct.items()}
        self._plans = [compiled[id(plan)] for plan in plans]
        due: Counter[int] = Counter()
        slices_of: Counter[int] = Counter()
        for plan, count in zip(plans, table.count, strict=True):
            slices_of[id(plan)] += count
        for key, plan in distinct.items():
            count = slices_of[key]
            self._open += len(plan.phases) * count
            due.update({phase.step: count for phase in plan.phases})
            for send in (send for group in plan.releases for send in group):
                queue = self._queues[send]
                queue.left += count
                if queue.peer is not None:
                    queue.peer.left += count
        self._queue_of = {send.task: queue for send, queue in self._queues.items()}
        self._gate: StepGate[tuple[int, _Queue]] | None = None if sliced.overlap else StepGate(due)
        for index in table.order:
            self._release(index, 0)
        self._ready = deque(peer for peer in self._peers.values() if peer.waiting)

    def _make_reducer(self, unit: ReductionUnit) -> Reducer:
        return Reducer(
            unit,
            self.rank,
            self.result,
            (self._offset, self._size),
            (self._applied, self._unsent, self._blocked),
            lambda index: self._plans[self._cell[index]][2],
            self._finish,
            lambda index: self._leave(index, self._plans[self._cell[index]][1][0]),
        )

    def _compile(self, plan: CellPlan) -> _Plan:
        for send in (send for group in plan.releases for send in group):
            if send not in self._queues:
                self._queues[send] = _Queue(self._by_rank.get(send.peer), send)
        arrivals = {phase.step: (index, phase, len(phase.sources)) for index, phase in enumerate(plan.phases)}
        releases = tuple(tuple(self._queues[send] for send in group) for group in plan.releases)
        return arrivals, releases, plan.phases

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
                moved = sender.on_ack(fields[6], fields[8], now, fields[1])
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

    def _work(self, now: int, out: list[tuple[bytes, int]]) -> None:
        """Send what can be sent, and open the tasks that are due, until neither changes anything."""
        tasks = self._tasks
        if tasks is None:
            if self._ready:
                self._pump(now, out)
            return
        while True:
            for number in tasks.due(now):
                held, tasks.held[number] = tasks.held[number], []
                queue = self._queue_of.get(number)
                for index in held:
                    if queue is None:
                        self._settle(index, now)
                    else:
                        self._queue(index, queue)
            if not self._ready and not self._local:
                break
            self._pump(now, out)
            while self._local:
                self._copy(*self._local.popleft(), now)
        self._check_finished(now)
        self._deadline = min(self._deadline, tasks.deadline)

    def _check_finished(self, now: int) -> None:
        if self.finished_ps is None and not self._open and not (self._tasks and self._tasks.computing):
            self.finished_ps = now

    def _copy(self, index: int, queue: _Queue, now: int) -> None:
        """Carry a slice to another place in the array, as a frame to the rank itself would."""
        start = self._offset[index]
        frame = bytes(DATA_HEADER_BYTES) + bytes(self._bytes[start : start + self._size[index]])
        target = self._slice_at[start + queue.shift]
        self._held.setdefault((target, queue.step), {})[self.rank] = frame
        queue.left -= 1
        self._left(index, queue, now)
        self._settle(target, now)

    def _left(self, index: int, queue: _Queue, now: int) -> None:
        """Note that a slice has left by a send."""
        self._unsent[index] -= 1
        if self._tasks is not None:
            self._tasks.slice_done(queue.task, now)
        if self._blocked and index in self._blocked and not self._unsent[index]:
            self._blocked.discard(index)
            self._settle(index, now)

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
        _, flags, _, _, _, _, psn, _, job, op, kind, step, _, offset, length = fields
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
            place, phase, count = arrival
            if self._reducer is not None:
                self._reducer.take(index, phase, peer.rank, frame, now)
            elif (
                count == 1
                and self._applied[index] == place
                and not self._unsent[index]
                and (self._tasks is None or self._tasks.open[phase.task])
            ):
                self._apply(index, phase, {peer.rank: frame}, now)
            else:
                held = self._held.setdefault((index, step), {})
                held[peer.rank] = frame
                if len(held) == count:
                    self._settle(index, now)
        elif new is None:
            self._junk["psn"] += 1
            return
        else:
            self._ask(fields[2], receiver.silent_buckets())
        if receiver.ack_at <= now:
            out.append((receiver.ack(now), VL_RESPONSE))
        elif receiver.ack_at < self._deadline:
            self._deadline = receiver.ack_at

    def _ask(self, address: int, silent: frozenset[int]) -> None:
        if silent and self.on_silence is not None:
            self.on_silence(address, silent)

    def _settle(self, index: int, now: int) -> None:
        """Apply a slice's next phases, in order, while all their contributions have arrived."""
        if self._reducer is not None:
            self._reducer.settle(index, now)
            return
        phases = self._plans[self._cell[index]][2]
        while self._applied[index] < len(phases):
            phase = phases[self._applied[index]]
            held = self._held.get((index, phase.step))
            if held is None or len(held) < len(phase.sources):
                return
            if self._tasks is not None and not self._tasks.open[phase.task]:
                self._tasks.held[phase.task].append(index)
                return
            if self._unsent[index]:
                self._blocked.add(index)
                return
            del self._held[index, phase.step]
            self._apply(index, phase, held, now, more=False)

    def _apply(self, index: int, phase: Phase, held: dict[int, bytes], now: int, more: bool = True) -> None:
        start = self._offset[index]
        size = self._size[index]
        if phase.op is _COPY:
            (frame,) = held.values()
            self._bytes[start : start + size] = memoryview(frame)[
                DATA_HEADER_BYTES : DATA_HEADER_BYTES + size
            ]
        else:
            count = size // _ITEM_BYTES
            dtype = self._dtype
            parts = [(s, np.frombuffer(held[s], dtype, count, DATA_HEADER_BYTES)) for s in phase.sources]
            fold(self.result[start // _ITEM_BYTES : start // _ITEM_BYTES + count], self.rank, parts)
        self._finish(index, phase, now)
        if more and self._held:
            self._settle(index, now)

    def _finish(self, index: int, phase: Phase, now: int) -> None:
        """Go on after a phase whose result is in the array."""
        self._applied[index] += 1
        self._release(index, self._applied[index])
        if self._gate is not None:
            for freed, queue in self._gate.arrived(phase.step):
                self._queue(freed, queue)
        if self._tasks is not None:
            self._tasks.slice_done(phase.task, now)
        self._open -= 1
        if not self._open and not (self._tasks and self._tasks.computing):
            self.finished_ps = now

    def _release(self, index: int, applied: int) -> None:
        queues = self._plans[self._cell[index]][1][applied]
        self._unsent[index] += len(queues)
        if not queues or self._reducer is None or not self._reducer.stages(index, applied):
            self._leave(index, queues)

    def _leave(self, index: int, queues: tuple[_Queue, ...]) -> None:
        for queue in queues:
            if self._tasks is not None and not self._tasks.open[queue.task]:
                self._tasks.held[queue.task].append(index)
            elif self._gate is None or not self._gate.hold(queue.step, (index, queue)):
                self._queue(index, queue)

    def _queue(self, index: int, queue: _Queue) -> None:
        peer = queue.peer
        if peer is None:
            self._local.append((index, queue))
            return
        if not queue.slices:
            peer.active.append(queue)
        queue.slices.append(index)
        if not peer.waiting and peer.pick():
            peer.waiting = True
            self._ready.append(peer)

    def _pump(self, now: int, out: list[tuple[bytes, int]]) -> None:
        """Send a frame to each peer in turn, until no peer has both a frame and room in its window.

        The queue with the fewest slices left goes first, so that short later steps, which other ranks wait
        for, pass the long first step, and equal steps of a ring go in order.
        """
        ready = self._ready
        while ready:
            peer = ready.popleft()
            sender = peer.pick()
            if sender is None:
                peer.waiting = False
                continue
            active = peer.active
            queue = active[0] if len(active) == 1 else min(active, key=_left)
            index = queue.slices.popleft()
            queue.left -= 1
            peer.left -= 1
            if not queue.slices:
                active.remove(queue)
            start = self._offset[index]
            frame = sender.send(
                queue.op,
                queue.step,
                self._cell[index],
                start + queue.shift,
                self._bytes[start : start + self._size[index]],
                not peer.left,
                now,
            )
            peer.message_sent()
            if self._reducer is not None:
                self._reducer.sent(index)
            out.append((frame, self._vl))
            if sender.timer < self._deadline:
                self._deadline = sender.timer
            if active:
                ready.append(peer)
            else:
                peer.waiting = False
            self._left(index, queue, now)
