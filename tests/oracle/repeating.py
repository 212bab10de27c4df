# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU in a training job, sans-IO: it alternates computation and a collective.

emulation.traffic.host.iterations explains iterations.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import final

from emulation.traffic.host.iterations import (
    MOST_FRAMES,
    WINDOWS,
    IterationProfile,
    IterationReport,
    input_of,
    too_many_frames,
)
from emulation.traffic.host.participant import Output
from emulation.traffic.host.reduction import Reduction
from emulation.traffic.host.stats import NOTHING, AgentStats, Failure
from emulation.traffic.host.transport import NEVER, TransportParameters
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.schedule import SlicedTraffic
from tests.oracle.agent import Agent
from tests.oracle.codec import iteration_of
from tests.oracle.reduction import ReductionUnit

__all__ = ["RepeatingAgent"]

_MOST_AHEAD = WINDOWS // 2


@final
class RepeatingAgent:
    """An agent of a job with iterations; `result` is of the last iteration begun.

    If cores reduce, computation lasts longer by the time that they lose.
    """

    def __init__(
        self,
        rank: int,
        sliced: SlicedTraffic,
        data: Array,
        addresses: Sequence[int],
        profile: IterationProfile,
        *,
        parameters: TransportParameters | None = None,
        reduction: Reduction | None = None,
    ) -> None:
        parameters = parameters or TransportParameters()
        self._unit = None if reduction is None else ReductionUnit(reduction)
        self._core_ps = 0  # lost by the cores until the present part of the computation began
        self.rank = rank
        self.address = addresses[rank]
        self.profile = profile
        self.on_done: Callable[[], None] | None = None
        self.on_repath: Callable[[int, frozenset[int]], None] | None = None
        # Called with the number of an iteration that has ended.
        self.on_iteration: Callable[[int], None] | None = None
        self.finished_ps: int | None = None
        self.log: list[IterationReport] = []
        self._make = partial(Agent, rank, sliced, addresses=addresses, unit=self._unit)
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
        if frames >= MOST_FRAMES:
            raise too_many_frames(frames)

    @property
    def result(self) -> Array:
        """Array of the last iteration begun."""
        return self._agents[self._at].result

    @property
    def times(self) -> Sequence[tuple[int, int]]:
        """Empty: the tasks of a graph are those of a single iteration."""
        return ()

    @property
    def failed(self) -> Failure | None:
        """Failure of an iteration's agent, if any."""
        return next((agent.failed for agent in self._agents.values() if agent.failed), None)

    @property
    def done(self) -> bool:
        """True once all iterations have ended."""
        return self.finished_ps is not None

    def set_level(self, level: int) -> None:
        """Set the service level of data, for iterations that have received no frame yet."""
        self._parameters = replace(self._parameters, level=level)

    @property
    def stats(self) -> AgentStats:
        """Counts of all iterations up to now."""
        total = self._past
        for agent in self._agents.values():
            total = total + agent.stats
        return total if self._unit is None else replace(total, reduction=self._unit.stats)

    def start(self, now: int) -> Output:
        """Begin to compute."""
        out: list[tuple[bytes, int]] = []
        self._begin(0, now)
        self._go_on(now, out)
        return out, self._deadline()

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Take a frame, for the iteration that it belongs to."""
        out: list[tuple[bytes, int]] = []
        number = self._number(frame)
        self._take(number, self._agents[number].on_frame(frame, now), out)
        if number == self._at:
            self._go_on(now, out)
        return out, self._deadline()

    def on_timer(self, now: int) -> Output:
        """Handle due timers, and begin to send or compute when due."""
        out: list[tuple[bytes, int]] = []
        for number, deadline in list(self._deadlines.items()):
            if deadline <= now:
                self._take(number, self._agents[number].on_timer(now), out)
        self._go_on(now, out)
        return out, self._deadline()

    def on_reroute(self, routes: Mapping[int, frozenset[int]], now: int) -> Output:
        """Send again, at once, what is under way in buckets whose route has changed, by destination CNA."""
        out: list[tuple[bytes, int]] = []
        for number, agent in self._agents.items():
            self._take(number, agent.on_reroute(routes, now), out)
        return out, self._deadline()

    def _agent(self, number: int) -> Agent:
        """Return the agent of an iteration; it is created by the iteration's first frame or its begin."""
        if number not in self._agents:
            parameters = replace(self._parameters, first_psn=number % WINDOWS * MOST_FRAMES)
            agent = self._make(input_of(self._data, number), job=number + 1, parameters=parameters)
            agent.on_repath = self._ask
            self._agents[number] = agent
        return self._agents[number]

    def _ask(self, address: int, silent: frozenset[int]) -> None:
        if self.on_repath is not None:
            self.on_repath(address, silent)

    def _number(self, frame: bytes) -> int:
        """Return the iteration that a frame belongs to; the current one, as junk, if it belongs to none."""
        said = iteration_of(frame)
        if said is None:
            return self._at
        data, value = said
        if not data:
            return next((number for number in self._agents if number % WINDOWS == value), self._at)
        number = value - 1
        if number in self._agents:
            return number
        if self._at < number < min(self._at + _MOST_AHEAD, self.profile.iterations):
            self._agent(number)
            return number
        return self._at

    def _begin(self, number: int, now: int) -> None:
        self._at = number
        self._begun_ps, self._send_ps = now, now + self.profile.before_ps
        self._core_ps = self._lost()
        self._sending, self._sent_ps = False, None
        self._agent(number)
        # A peer may still retransmit frames of the previous iteration, but not of earlier ones.
        for old in [iteration for iteration in self._agents if iteration < number - 1]:
            self._past = self._past + self._agents.pop(old).stats
            self._deadlines.pop(old, None)

    def _go_on(self, now: int, out: list[tuple[bytes, int]]) -> None:
        """Begin to send, and begin the next iteration, if due."""
        while self.finished_ps is None:
            agent = self._agents[self._at]
            if not self._sending:
                if now < self._computed():
                    return
                self._sending, self._send_ps = True, self._computed()
                self._core_ps = self._lost()
                self._take(self._at, agent.start(now), out)
            if not agent.done:
                return
            if self._sent_ps is None:
                self._sent_ps = now
            if now < self._computed():
                return
            checksum = zlib.crc32(agent.result.tobytes())
            self.log.append(IterationReport(self._begun_ps, self._send_ps, self._sent_ps, now, checksum))
            if self.on_iteration is not None:
                self.on_iteration(self._at)
            if self._at + 1 == self.profile.iterations:
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
        if self.finished_ps is None and (not self._sending or self._sent_ps is not None):
            yield self._computed()

    def _lost(self) -> int:
        return 0 if self._unit is None else self._unit.core_ps

    def _computed(self) -> int:
        """Return the end of the computation before sending, or of the computation beside it."""
        beside = self.profile.overlap_ps if self._sending else 0
        return self._send_ps + beside + self._lost() - self._core_ps
