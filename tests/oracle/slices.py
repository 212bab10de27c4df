# SPDX-License-Identifier: Apache-2.0
"""Progress of a rank's slices, sans-IO: phases applied to the array, sends released and sent, tasks opened.

The state of a slice is two numbers: the phases of its plan that have been applied, and its released sends
that have not left yet. In a traffic graph a slice also waits for the task of its send or phase to open.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np

from emulation.traffic.frames.values import Combine
from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from emulation.traffic.host.transport import NEVER
from emulation.traffic.schedule.data import DTYPES, Array, element_type, fold
from emulation.traffic.schedule.schedule import CellPlan, Phase, Send, SlicedTraffic
from tests.oracle.barrier import StepBarrier
from tests.oracle.connections import Peer
from tests.oracle.reducer import Reducer
from tests.oracle.reduction import ReductionUnit
from tests.oracle.tasks import Progress

__all__ = ["Slices"]

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


class Slices:
    """The slices of a rank.

    `result` is the rank's array, `finished_ps` the time at which it became final, None before. An agent adds
    the connections: it gives each new frame to `_arrived`, and calls `_work` to send what is ready. `peers`
    are its peers by rank; `level` is the service level of its data.
    """

    def __init__(
        self,
        rank: int,
        sliced: SlicedTraffic,
        data: Array,
        peers: Mapping[int, Peer],
        *,
        level: int,
        unit: ReductionUnit | None,
    ) -> None:
        self.rank = rank
        self.finished_ps: int | None = None
        self.result: Array = data.astype(DTYPES[element_type(data)], copy=True)
        self._bytes = self.result.data.cast("B")
        self._dtype = self.result.dtype
        self._vl = 2 * level
        self._by_rank = peers
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
        self._open = 0  # phases not applied yet, over all slices
        self._reducer = None if unit is None else self._make_reducer(unit)
        tasks = sliced.tasks_of(rank)
        self._tasks = Progress(tasks) if tasks else None
        self._local: deque[tuple[int, _Queue]] = deque()  # slices to copy inside the array
        plans = sliced.plans_of(rank)
        # Many cells share a plan object.
        distinct = {id(plan): plan for plan in plans}
        compiled = {key: self._compile(plan) for key, plan in distinct.items()}
        self._plans = [compiled[id(plan)] for plan in plans]
        due = self._count(plans, table.count)
        self._queue_of = {send.task: queue for send, queue in self._queues.items()}
        self._gate: StepBarrier[tuple[int, _Queue]] | None = None if sliced.overlap else StepBarrier(due)
        for index in table.order:
            self._release(index, 0)
        self._ready = deque(peer for peer in peers.values() if peer.waiting)

    def _count(self, plans: Sequence[CellPlan], slices: Sequence[int]) -> Counter[int]:
        """Count the open phases and the slices of each queue; return the expected arrivals by step.

        `slices[cell]` is the number of slices of a cell, `plans[cell]` its plan.
        """
        slices_of: Counter[int] = Counter()
        for plan, count in zip(plans, slices, strict=True):
            slices_of[id(plan)] += count
        due: Counter[int] = Counter()
        for key, plan in {id(plan): plan for plan in plans}.items():
            count = slices_of[key]
            self._open += len(plan.phases) * count
            due.update({phase.step: count for phase in plan.phases})
            for send in (send for group in plan.releases for send in group):
                queue = self._queues[send]
                queue.left += count
                if queue.peer is not None:
                    queue.peer.left += count
        return due

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

    def _arrived(
        self, index: int, arrival: tuple[int, Phase, int], source: int, frame: bytes, now: int
    ) -> None:
        """Take a slice's frame from a source; it is applied once the phase is next and complete."""
        place, phase, count = arrival
        if self._reducer is not None:
            self._reducer.take(index, phase, source, frame, now)
        elif (
            count == 1
            and self._applied[index] == place
            and not self._unsent[index]
            and (self._tasks is None or self._tasks.open[phase.task])
        ):
            self._apply(index, phase, {source: frame}, now)
        else:
            held = self._held.setdefault((index, phase.step), {})
            held[source] = frame
            if len(held) == count:
                self._settle(index, now)

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
