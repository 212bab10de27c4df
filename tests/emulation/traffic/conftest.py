# SPDX-License-Identifier: Apache-2.0
"""An in-memory wire between agents: a pipe a pair of ranks, seeded loss, duplication and reordering."""

import heapq
import random
from collections.abc import Callable, Sequence
from itertools import count

import pytest

from emulation.traffic.host.participant import Output
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import Array, make_data
from emulation.traffic.schedule.schedule import Schedule, Sliced, slice_schedule
from tests.oracle.agent import Agent
from tests.oracle.repeating import RepeatingAgent


class MemoryWire:
    """Carries frames between agents in virtual time: a pipe with rate and delay a pair, and ill fortune."""

    def __init__(
        self,
        agents: Sequence[Agent | RepeatingAgent],
        *,
        seed: int = 1,
        loss: float = 0.0,
        duplication: float = 0.0,
        jitter_ps: int = 0,
        rate_bps: int = 400_000_000_000,
        delay_ps: int = 20_000,
        dead: frozenset[int] = frozenset(),
    ) -> None:
        self.agents = agents
        self.now = 0
        self.frames = 0
        self.lost = 0
        self._random = random.Random(seed)
        self._loss = loss
        self._duplication = duplication
        self._jitter = jitter_ps
        self._ps_a_byte = 8 * 10**12 / rate_bps
        self._delay = delay_ps
        self._dead = dead
        self._rank = {agent.address: agent.rank for agent in agents}
        self._events: list[tuple[int, int, int, bytes | None]] = []
        self._order = count()
        self._free: dict[tuple[int, int, int], int] = {}
        self._timer: list[int | None] = [None] * len(agents)

    def run(self, limit_ps: int = 10**13) -> None:
        """Until nothing is left to happen, or an agent fails."""
        for agent in self.agents:
            if agent.rank not in self._dead:
                self._take(agent.rank, agent.start(0))
        while self._events:
            self.now, _, rank, frame = heapq.heappop(self._events)
            assert self.now < limit_ps, "no end in sight"
            agent = self.agents[rank]
            if frame is not None:
                self._take(rank, agent.on_frame(frame, self.now))
            elif self._timer[rank] == self.now:
                self._timer[rank] = None
                self._take(rank, agent.on_timer(self.now))
            if agent.failed:
                return

    def _take(self, rank: int, output: Output) -> None:
        frames, deadline = output
        for frame, vl in frames:
            target = self._rank[int.from_bytes(frame[20:22], "big")]
            pipe = (rank, target, vl)
            left = max(self.now, self._free.get(pipe, 0)) + int(len(frame) * self._ps_a_byte)
            self._free[pipe] = left
            self.frames += 1
            if target in self._dead or self._random.random() < self._loss:
                self.lost += 1
                continue
            for _ in range(2 if self._random.random() < self._duplication else 1):
                late = self._random.randrange(self._jitter) if self._jitter else 0
                heapq.heappush(self._events, (left + self._delay + late, next(self._order), target, frame))
        if deadline is not None and deadline != self._timer[rank]:
            assert deadline >= self.now, "a deadline in the past"
            self._timer[rank] = deadline
            heapq.heappush(self._events, (deadline, next(self._order), rank, None))


class Job:
    """Agents of one collective on a wire, and what they started from."""

    def __init__(
        self,
        schedule: Schedule,
        *,
        slice_elements: int = 64,
        dtype: str = "int32",
        data_seed: int = 7,
        parameters: TransportParameters | None = None,
        overlap: bool = True,
        **wire: object,
    ) -> None:
        self.sliced: Sliced = slice_schedule(schedule, slice_elements, overlap=overlap)
        self.inputs: list[Array] = [
            make_data(rank, schedule.elements, dtype, data_seed) for rank in range(schedule.ranks)
        ]
        addresses = [0x40 + 3 * rank for rank in range(schedule.ranks)]
        self.agents = [
            Agent(rank, self.sliced, self.inputs[rank], addresses, parameters=parameters)
            for rank in range(schedule.ranks)
        ]
        self.wire = MemoryWire(self.agents, **wire)  # type: ignore[arg-type]

    def run(self) -> "Job":
        self.wire.run()
        return self

    @property
    def results(self) -> list[Array]:
        return [agent.result for agent in self.agents]

    @property
    def finished_ps(self) -> int:
        return max(agent.finished_ps or 0 for agent in self.agents)


@pytest.fixture(scope="session")
def run_job() -> Callable[..., Job]:
    """Build and run a Job; see its arguments."""
    return lambda *args, **kwargs: Job(*args, **kwargs).run()


@pytest.fixture(scope="session")
def new_job() -> Callable[..., Job]:
    """Build a Job without running it."""
    return Job
