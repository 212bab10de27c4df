# SPDX-License-Identifier: Apache-2.0
"""Phases of an agent's slices on the NPU's reduction unit, sans-IO; see `emulation.traffic.host.reduction`.

Cores take a phase once all its frames have arrived and the sends that need the old elements have left. The
CCU takes each frame as soon as the frames of all lower ranks have been taken, adds it to a sum in SRAM, and
writes the sum to memory at the end of the phase. Both add in the order of ranks, so their sums are equal bit
for bit.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, final

import numpy as np

from emulation.traffic.frames.values import Combine
from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from emulation.traffic.host.transport import NEVER
from emulation.traffic.schedule.data import Array, fold
from emulation.traffic.schedule.slicing import Phase
from tests.oracle.reduction import ReductionUnit

__all__ = ["Reducer"]

_ITEM_BYTES = 4
_COPY = Combine.COPY
_STAGE: Final = -1
"""Task of the cores: copy a slice into the communication buffer."""


@final
class _Work:
    """The present phase of a slice: frames given to the unit and added, and their sum.

    The check bit of a source is its presence among the arrived frames of the phase.
    """

    __slots__ = ("added", "in_sram", "taken", "total")

    def __init__(self) -> None:
        self.taken = self.added = 0
        self.total: Array | None = None
        self.in_sram = False


@final
class Reducer:
    """Phases of one agent on the unit.

    `applied` and `unsent` are the agent's lists of applied phases and released sends by slice, `blocked` its
    slices that wait for sends, `phases` the phases of a slice. `finish` goes on after a phase whose result is
    in the array; `leave` lets the first sends of a slice leave.
    """

    def __init__(
        self,
        unit: ReductionUnit,
        rank: int,
        array: Array,
        bounds: tuple[Sequence[int], Sequence[int]],
        state: tuple[list[int], list[int], set[int]],
        phases: Callable[[int], Sequence[Phase]],
        finish: Callable[[int, Phase, int], None],
        leave: Callable[[int], None],
    ) -> None:
        self._unit = unit
        self._rank = rank
        self._array = array
        self._offset, self._size = bounds
        self._applied, self._unsent, self._blocked = state
        self._phases = phases
        self._finish = finish
        self._leave = leave
        self._held: dict[tuple[int, int], dict[int, tuple[bytes, bool]]] = {}  # (slice, step): by source
        self._work: dict[int, _Work] = {}
        self._staged: list[int] = []
        self._tasks: deque[tuple[int, int, int]] = deque()  # end, slice, place of the source or _STAGE

    @property
    def due(self) -> int:
        """Time at which the first task ends; NEVER without tasks."""
        return self._tasks[0][0] if self._tasks else NEVER

    def stages(self, index: int, applied: int) -> bool:
        """Return whether sends that a phase has released wait for a copy into the communication buffer.

        Cores write the result of a phase to both buffers at once, so only the first sends wait.
        """
        if self._unit.ccu:
            return False
        if applied:
            self._unit.memory(0, self._size[index])
            return False
        self._staged.append(index)
        return True

    def begin(self, now: int) -> None:
        """Begin to send: copy the slices whose sends wait for it."""
        for index in self._staged:
            self._tasks.append((self._unit.work(self._size[index], 1, now), index, _STAGE))
        self._staged.clear()
        self.run(now)

    def sent(self, index: int) -> None:
        """Count the memory traffic of a frame that leaves."""
        self._unit.memory(self._size[index], 0)

    def take(self, index: int, phase: Phase, source: int, frame: bytes, now: int) -> None:
        """Take the frame of a source of a phase."""
        size = self._size[index]
        in_sram = self._unit.ccu and self._unit.claim(size)
        if not self._unit.ccu:
            self._unit.memory(0, size)
        self._held.setdefault((index, phase.step), {})[source] = (frame, in_sram)
        self.settle(index, now)

    def settle(self, index: int, now: int) -> None:
        """Go on with a slice, after an arrival or after its last released send has left."""
        self._offer(index, now)
        self.run(now)

    def run(self, now: int) -> None:
        """End the tasks that are due."""
        tasks = self._tasks
        while tasks and tasks[0][0] <= now:
            _, index, place = tasks.popleft()
            if place == _STAGE:
                size = self._size[index]
                self._unit.memory(size, size)
                self._leave(index)
                continue
            phase = self._phases(index)[self._applied[index]]
            if self._unit.ccu:
                self._add(index, phase, place)
            else:
                self._reduce(index, phase, now)
            self._offer(index, now)

    def _offer(self, index: int, now: int) -> None:
        """Give the unit what it may take of a slice's present phase; end the phase if nothing is left."""
        phases = self._phases(index)
        while self._applied[index] < len(phases):
            phase = phases[self._applied[index]]
            held = self._held.get((index, phase.step), {})
            work = self._work.get(index)
            if work is None:
                if not held:
                    return
                work = self._work[index] = _Work()
            size, count = self._size[index], len(phase.sources)
            if not self._unit.ccu:
                self._offer_whole(index, work, len(held) == count, now)
                return
            while work.taken < count and phase.sources[work.taken] in held:
                self._tasks.append((self._unit.work(size, 1, now), index, work.taken))
                work.taken += 1
            if work.added < count:
                return
            if self._unsent[index]:
                self._blocked.add(index)
                return
            self._write(index, phase, now)

    def _offer_whole(self, index: int, work: _Work, complete: bool, now: int) -> None:
        """Give the cores a phase whose frames have all arrived."""
        if not complete or work.taken:
            return
        if self._unsent[index]:
            self._blocked.add(index)
            return
        phase = self._phases(index)[self._applied[index]]
        work.taken = len(phase.sources)
        self._tasks.append((self._unit.work(self._size[index], work.taken, now), index, 0))

    def _own(self, index: int) -> Array:
        start = self._offset[index] // _ITEM_BYTES
        return self._array[start : start + self._size[index] // _ITEM_BYTES]

    def _part(self, frame: bytes, size: int) -> Array:
        return np.frombuffer(frame, self._array.dtype, size // _ITEM_BYTES, DATA_HEADER_BYTES)

    def _reduce(self, index: int, phase: Phase, now: int) -> None:
        """End a phase of the cores."""
        del self._work[index]
        held = self._held.pop((index, phase.step))
        size = self._size[index]
        own = self._own(index)
        parts = [(source, self._part(held[source][0], size)) for source in phase.sources]
        if phase.op is _COPY:
            self._unit.memory(size, size)
            own[:] = parts[0][1]
        else:
            self._unit.memory((len(parts) + 1) * size, size)
            fold(own, self._rank, parts)
        self._finish(index, phase, now)

    def _add(self, index: int, phase: Phase, place: int) -> None:
        """Add a frame to the sum of the CCU, and the own elements at their place in the order of ranks."""
        size = self._size[index]
        work = self._work[index]
        sources = phase.sources
        source = sources[place]
        frame, in_sram = self._held[index, phase.step].pop(source)
        part = self._part(frame, size)
        if not in_sram:
            self._unit.memory(size, 0)
        if place == 0:
            work.in_sram = in_sram  # the sum takes the place of its first frame
        elif in_sram:
            self._unit.free(size)
        if not work.in_sram:
            self._unit.memory(size if place else 0, size)
        terms = [part]
        if phase.op is not _COPY:
            if source > self._rank and (place == 0 or sources[place - 1] < self._rank):
                terms.insert(0, self._own(index))
            elif source < self._rank and place == len(sources) - 1:
                terms.append(self._own(index))
            self._unit.memory(size * (len(terms) - 1), 0)
        for term in terms:
            work.total = term.copy() if work.total is None else np.add(work.total, term)
        work.added += 1

    def _write(self, index: int, phase: Phase, now: int) -> None:
        """End a phase of the CCU."""
        work = self._work.pop(index)
        del self._held[index, phase.step]
        assert work.total is not None
        size = self._size[index]
        if work.in_sram:
            self._unit.free(size)
        else:
            self._unit.memory(size, 0)
        self._unit.memory(0, size)
        self._own(index)[:] = work.total
        self._finish(index, phase, now)
