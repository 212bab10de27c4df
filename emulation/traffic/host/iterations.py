# SPDX-License-Identifier: Apache-2.0
"""One NPU of a job that trains, sans-IO: it computes and sends, over and over.

An iteration is computation, then a collective; a part of the computation may go on while the collective
sends. A rank begins the next one when it has computed all, has its result, and all that it sent is
acknowledged. So ranks drift apart by no more than the collective lets them: one that is ahead may send to one
that computes still, which takes the frames into the array of that iteration.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

import numpy as np

from emulation.errors import EmulationError
from emulation.traffic.frames.wire import PSN_MASK, iteration_of
from emulation.traffic.host.agent import Agent, Output
from emulation.traffic.host.stats import NOTHING, AgentStats, Failure
from emulation.traffic.host.transport import NEVER, TransportParameters
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.schedule import Sliced

__all__ = ["MOST_ITERATIONS", "Iterated", "IterationReport", "Rhythm", "input_of"]

# What the collective header's job number counts, from 1.
MOST_ITERATIONS: Final = (1 << 16) - 1

# Acknowledgements carry no job number: so many iterations in a row have sequence numbers of their own.
_WINDOWS = 16
_STRIDE = (PSN_MASK + 1) // _WINDOWS
_MOST_AHEAD = _WINDOWS // 2


@final
@dataclass(frozen=True, slots=True)
class Rhythm:
    """`compute_ps` of computation in each iteration, of which the last `overlap_ps` while it sends."""

    iterations: int = 1
    compute_ps: int = 0
    overlap_ps: int = 0

    def __post_init__(self) -> None:
        limits = {
            "iterations": (1, MOST_ITERATIONS),
            "compute_ps": (0, NEVER),
            "overlap_ps": (0, self.compute_ps),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise EmulationError(f"job: {name} {value}", remedy=f"use a value from {low} to {high}")

    @property
    def before_ps(self) -> int:
        """Computation before anything is sent."""
        return self.compute_ps - self.overlap_ps

    def least_ps(self, sending_ps: int) -> int:
        """All iterations when the collective of each takes that long."""
        return self.iterations * (self.before_ps + max(self.overlap_ps, sending_ps))


@final
@dataclass(frozen=True, slots=True)
class IterationReport:
    """One iteration of one rank: when it began to compute, to send, was through with that, and was over.

    It is through when it has its result and all that it sent is acknowledged.
    `checksum` is the CRC-32 of the result.
    """

    begun_ps: int
    send_ps: int
    sent_ps: int
    end_ps: int
    checksum: int


def input_of(data: Array, iteration: int) -> Array:
    """A rank's input of an iteration: moved on by an element each time, so that no old frame looks right."""
    return np.roll(data, iteration)


@final
class Iterated:
    """As `Agent`, of a job with a rhythm. `result` is that of the last iteration begun."""

    def __init__(
        self,
        rank: int,
        sliced: Sliced,
        data: Array,
        addresses: Sequence[int],
        rhythm: Rhythm,
        *,
        parameters: TransportParameters | None = None,
    ) -> None:
        parameters = parameters or TransportParameters()
        # Makes an equal one, as it is now: for a testbed that runs it in another process.
        self.again = partial(Iterated, rank, sliced, data, addresses, rhythm, parameters=parameters)
        self.rank = rank
        self.address = addresses[rank]
        self.rhythm = rhythm
        self.on_done: Callable[[], None] | None = None
        # Called with the number of an iteration that is over.
        self.on_iteration: Callable[[int], None] | None = None
        self.finished_ps: int | None = None
        self.log: list[IterationReport] = []
        self._make = partial(Agent, rank, sliced, addresses=addresses)
        self._data = data
        self._parameters = parameters
        self._agents: dict[int, Agent] = {}
        self._deadlines: dict[int, int] = {}
        self._past = NOTHING
        self._at = 0
        self._sending = False
        self._begun_ps = self._send_ps = 0
        self._sent_ps: int | None = None
        frames = self._agent(0).longest
        if frames >= _STRIDE:
            raise EmulationError(
                f"{frames} frames to one peer in an iteration: there are sequence numbers for {_STRIDE - 1}",
                remedy="take larger frames or a smaller array",
            )

    @property
    def result(self) -> Array:
        return self._agents[self._at].result

    @property
    def failed(self) -> Failure | None:
        return next((one.failed for one in self._agents.values() if one.failed), None)

    @property
    def done(self) -> bool:
        """Whether all iterations are over."""
        return self.finished_ps is not None

    def set_level(self, level: int) -> None:
        """The service level of the data of iterations that no frame has come of yet."""
        self._parameters = replace(self._parameters, level=level)

    @property
    def stats(self) -> AgentStats:
        """Counts of all iterations up to now."""
        total = self._past
        for one in self._agents.values():
            total = total + one.stats
        return total

    def start(self, now: int) -> Output:
        """Begin to compute."""
        out: list[tuple[bytes, int]] = []
        self._begin(0, now)
        self._go_on(now, out)
        return out, self._deadline()

    def on_frame(self, frame: bytes, now: int) -> Output:
        out: list[tuple[bytes, int]] = []
        number = self._number(frame)
        self._take(number, self._agents[number].on_frame(frame, now), out)
        if number == self._at:
            self._go_on(now, out)
        return out, self._deadline()

    def on_timer(self, now: int) -> Output:
        out: list[tuple[bytes, int]] = []
        for number, deadline in list(self._deadlines.items()):
            if deadline <= now:
                self._take(number, self._agents[number].on_timer(now), out)
        self._go_on(now, out)
        return out, self._deadline()

    def _agent(self, number: int) -> Agent:
        """That of an iteration, made when the first frame or its time has come."""
        if number not in self._agents:
            parameters = replace(self._parameters, first_psn=number % _WINDOWS * _STRIDE)
            self._agents[number] = self._make(
                input_of(self._data, number), job=number + 1, parameters=parameters
            )
        return self._agents[number]

    def _number(self, frame: bytes) -> int:
        """Which iteration's agent takes a frame: what is of none goes to the one at hand, as junk."""
        said = iteration_of(frame)
        if said is None:
            return self._at
        data, value = said
        if not data:
            return next((number for number in self._agents if number % _WINDOWS == value), self._at)
        number = value - 1
        if number in self._agents:
            return number
        if self._at < number < min(self._at + _MOST_AHEAD, self.rhythm.iterations):
            self._agent(number)
            return number
        return self._at

    def _begin(self, number: int, now: int) -> None:
        self._at = number
        self._begun_ps, self._send_ps = now, now + self.rhythm.before_ps
        self._sending, self._sent_ps = False, None
        self._agent(number)
        # The one before may still be asked by a peer that did not hear; of those before it nobody can ask.
        for old in [one for one in self._agents if one < number - 1]:
            self._past = self._past + self._agents.pop(old).stats
            self._deadlines.pop(old, None)

    def _go_on(self, now: int, out: list[tuple[bytes, int]]) -> None:
        """All that is due: to send, and the next iteration."""
        while self.finished_ps is None:
            agent = self._agents[self._at]
            if not self._sending:
                if now < self._send_ps:
                    return
                self._sending = True
                self._take(self._at, agent.start(now), out)
            if not agent.done:
                return
            if self._sent_ps is None:
                self._sent_ps = now
            if now < self._send_ps + self.rhythm.overlap_ps:
                return
            checksum = zlib.crc32(agent.result.tobytes())
            self.log.append(IterationReport(self._begun_ps, self._send_ps, self._sent_ps, now, checksum))
            if self.on_iteration is not None:
                self.on_iteration(self._at)
            if self._at + 1 == self.rhythm.iterations:
                self.finished_ps = now
                if self.on_done is not None:
                    self.on_done()
            else:
                self._begin(self._at + 1, now)

    def _take(self, number: int, output: Output, out: list[tuple[bytes, int]]) -> None:
        frames, deadline = output
        out += frames
        self._deadlines[number] = NEVER if deadline is None else deadline

    def _deadline(self) -> int | None:
        first = min(self._due())
        return None if first == NEVER or self.failed else first

    def _due(self) -> Iterator[int]:
        yield from self._deadlines.values()
        yield NEVER
        if self.finished_ps is None:
            if not self._sending:
                yield self._send_ps
            elif self._sent_ps is not None:
                yield self._send_ps + self.rhythm.overlap_ps
