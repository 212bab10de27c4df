# SPDX-License-Identifier: Apache-2.0
"""Agents in C++ (emulation/engine/hosts), with the interface of the agents in Python.

The agents in Python are the specification: for the same frames at the same times both send the same frames,
and end with the same arrays and statistics. The embedded testbed runs these agents without a call of Python
for a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from random import Random
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from emulation import _engine
from emulation.errors import EmulationError
from emulation.traffic.frames.values import ElementType, Opcode
from emulation.traffic.frames.wire import header
from emulation.traffic.host.agent import Output
from emulation.traffic.host.checks import check_agent
from emulation.traffic.host.connections import Ends, ends_of
from emulation.traffic.host.iterations import MOST_FRAMES, IterationReport, Rhythm, too_many_frames
from emulation.traffic.host.kept_ranks import KeptRanks
from emulation.traffic.host.paths.choice import BUCKETS
from emulation.traffic.host.reduction import Reduction, ReductionStats
from emulation.traffic.host.stats import AgentStats, Failure
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import DTYPES, Array, element_type
from emulation.traffic.schedule.schedule import CellPlan, Send, SlicedTraffic

__all__ = ["NativeAgent", "NativeIterated", "Ranks"]

_ITEM_BYTES = 4

if not hasattr(_engine, "Participant"):
    raise EmulationError("the built engine is older than these sources", remedy="run `make setup`")


class _Native:
    """Interface that agents with and without iterations share; the engine defines its annotated members."""

    rank: int
    address: int
    _dtype: np.dtype[Any]
    array: Callable[[], Any]
    counts: Callable[[], tuple[int, int, int, int, int, int, int, dict[str, int], int]]
    reduction_counts: Callable[[], tuple[int, ...] | None]
    failure: Callable[[], tuple[int, int, int] | None]
    call_when_done: Callable[[Callable[[], None]], None]
    call_at_silence: Callable[[Callable[[int, int], None]], None]
    reroute: Callable[[list[tuple[int, int]], int], Output]

    @property
    def result(self) -> Array:
        """Array of the rank; an agent at work changes it."""
        return self.array().view(self._dtype)

    @property
    def stats(self) -> AgentStats:
        """Counts up to now."""
        reduced = self.reduction_counts()
        return AgentStats(*self.counts(), reduction=None if reduced is None else ReductionStats(*reduced))

    @property
    def failed(self) -> Failure | None:
        """The connection that was given up, if any."""
        failure = self.failure()
        return None if failure is None else Failure(self.rank, *failure)

    def on_reroute(self, routes: Mapping[int, frozenset[int]], now: int) -> Output:
        """Send again what is under way in buckets whose route has changed, by destination CNA."""
        bits = [(address, sum(1 << bucket for bucket in buckets)) for address, buckets in routes.items()]
        return self.reroute(bits, now)

    def _set_on_done(self, call: Callable[[], None] | None) -> None:
        self.call_when_done(call or _nothing)

    def _set_on_silence(self, call: Callable[[int, frozenset[int]], None]) -> None:
        self.call_at_silence(lambda address, bits: call(address, _buckets_of(bits)))

    on_silence = property(
        fset=_set_on_silence, doc="Called with a peer's address and the buckets whose paths are silent."
    )
    on_done = property(fset=_set_on_done, doc="Called when all iterations or the collective have ended.")


def _buckets_of(bits: int) -> frozenset[int]:
    return frozenset(bucket for bucket in range(BUCKETS) if bits >> bucket & 1)


def _nothing() -> None:
    """Do nothing."""


@final
class NativeAgent(_Native, _engine.Agent):
    """A rank of a collective, in C++; see `emulation.traffic.host.agent.Agent`."""

    def __init__(
        self,
        ranks: Ranks,
        rank: int,
        data: Array | _engine.AgentArray,
        job: int,
        parameters: TransportParameters,
    ) -> None:
        array = data if isinstance(data, _engine.AgentArray) else _bytes_of(data)
        super().__init__(ranks.part(rank), array, job, _transport(parameters), _reduction(ranks.reduction))
        self.rank = rank
        self.address = ranks.addresses[rank]
        self._dtype = DTYPES[_type_of(data)]

    @property
    def times(self) -> list[tuple[int, int]]:
        """Time at which each task opened and at which it ended, in ps, -1 before; empty without tasks."""
        return self.spans


@final
class NativeIterated(_Native, _engine.Iterated):
    """A rank of a training job, in C++; see `emulation.traffic.host.iterations.Iterated`."""

    def __init__(
        self, ranks: Ranks, rank: int, data: Array, rhythm: Rhythm, parameters: TransportParameters
    ) -> None:
        super().__init__(
            ranks.part(rank),
            _bytes_of(data),
            rhythm.iterations,
            rhythm.compute_ps,
            rhythm.overlap_ps,
            _transport(parameters),
            _reduction(ranks.reduction),
        )
        self.rank = rank
        self.address = ranks.addresses[rank]
        self.rhythm = rhythm
        self._marks = parameters.marks
        self._dtype = DTYPES[element_type(data)]
        if self.longest >= MOST_FRAMES:
            raise too_many_frames(self.longest)

    @property
    def times(self) -> Sequence[tuple[int, int]]:
        """Empty: the tasks of a graph are those of a single iteration."""
        return ()

    @property
    def log(self) -> Sequence[IterationReport]:
        """Reports of the iterations that have ended."""
        return [IterationReport(*report) for report in self.reports()]

    def set_level(self, level: int) -> None:
        """Set the service level of data, for iterations that have received no frame yet."""
        self.use_level(level, header(Opcode.DATA, level, marks=self._marks), header(Opcode.ACK))

    def _set_on_iteration(self, call: Callable[[int], None]) -> None:
        self.call_at_iteration(call)

    on_iteration = property(
        fset=_set_on_iteration, doc="Called with the number of an iteration that has ended."
    )


@final
class Ranks:
    """Maker of the agents of a collective in C++; the agents share the table of slices."""

    def __init__(
        self,
        sliced: SlicedTraffic,
        addresses: Sequence[int],
        parameters: TransportParameters,
        reduction: Reduction | None = None,
        kept: KeptRanks | None = None,
    ) -> None:
        self.reduction = reduction
        self.addresses = addresses
        self._sliced = sliced
        self._parameters = parameters
        self._slices: dict[int, _engine.Slices] = {}
        self._dtype = 0
        self._known = (kept or KeptRanks()).of(sliced, addresses, parameters)

    def agent(self, rank: int, data: Array | _engine.AgentArray, job: int) -> NativeAgent:
        """Return a rank's agent, which takes over an AgentArray; EmulationError as for an agent in Python."""
        check_agent(rank, self._sliced, data, self.addresses)
        self._dtype = int(_type_of(data))
        return NativeAgent(self, rank, data, job, self._parameters)

    def iterated(self, rank: int, data: Array, rhythm: Rhythm) -> NativeIterated:
        """Return a rank's agent for iterations; EmulationError as for an agent in Python."""
        check_agent(rank, self._sliced, data, self.addresses)
        self._dtype = int(element_type(data))
        return NativeIterated(self, rank, data, rhythm, self._parameters)

    def part(self, rank: int) -> _engine.Rank:
        """Return the engine's description of a rank: its plan and its peers."""
        known = self._known.get((rank, self._dtype))
        if known is None:
            known = self._known[rank, self._dtype] = self._part(rank)
        return known

    def _part(self, rank: int) -> _engine.Rank:
        plans = self._sliced.plans_of(rank)
        count = len(self.addresses)
        ends = list(ends_of(rank, plans, count, self._parameters))
        place = {end.rank: number for number, end in enumerate(ends)}
        distinct: dict[int, int] = {}
        kept: list[CellPlan] = []
        of_cell = []
        for plan in plans:
            number = distinct.setdefault(id(plan), len(kept))
            if number == len(kept):
                kept.append(plan)
            of_cell.append(number)
        sends: dict[Send, int] = {}
        for plan in kept:
            for group in plan.releases:
                for send in group:
                    sends.setdefault(send, len(sends))
        return _engine.rank(
            self._slices_of(rank),
            rank=rank,
            ranks=count,
            address=self.addresses[rank],
            dtype=self._dtype,
            overlap=self._sliced.overlap,
            peers=[self._peer(end) for end in ends],
            sends=[(s.step, place.get(s.peer, -1), int(s.op), s.shift * _ITEM_BYTES, s.task) for s in sends],
            plans=[
                (
                    [(phase.step, int(phase.op), list(phase.sources), phase.task) for phase in plan.phases],
                    [[sends[send] for send in group] for group in plan.releases],
                )
                for plan in kept
            ],
            of_cell=of_cell,
            tasks=[
                (
                    task.needs,
                    task.at_ps,
                    task.delay_ps,
                    task.duration_ps,
                    task.unit,
                    task.slices,
                    task.free,
                    list(task.followers),
                )
                for task in self._sliced.tasks_of(rank)
            ],
        )

    def _slices_of(self, rank: int) -> _engine.Slices:
        """Return the engine's table of a rank's slices; ranks with the same table share it."""
        table = self._sliced.table_of(rank)
        if id(table) not in self._slices:
            self._slices[id(table)] = _engine.Slices(
                table.offset, table.size, table.cell, table.order, len(table.count)
            )
        return self._slices[id(table)]

    def _peer(self, end: Ends) -> tuple[Any, ...]:
        paths = None if end.shares is None else list(end.shares.paths)
        weights = () if end.shares is None else end.shares.weights or ()
        timings = () if end.shares is None else end.shares.timings
        drawn = end.seed is not None and len(end.lbs) > 1
        return (
            end.rank,
            self.addresses[end.rank],
            [lb & 0xFF for lb in end.lbs],
            [lb & 0xFF for lb in end.ack_lbs],
            paths,
            list(weights),
            [astuple(timing) for timing in timings],
            list(Random(end.seed).getstate()[1]) if drawn else None,
        )


def _transport(parameters: TransportParameters) -> _engine.Transport:
    return _engine.Transport(
        window=parameters.window,
        ack_every=parameters.ack_every,
        ack_delay_ps=parameters.ack_delay_ps,
        initial_rto_ps=parameters.initial_rto_ps,
        min_rto_ps=parameters.min_rto_ps,
        path_rto_ps=parameters.path_rto_ps,
        adaptive=parameters.adaptive,
        max_rto_ps=parameters.max_rto_ps,
        max_retries=parameters.max_retries,
        lb_mode=parameters.lb_mode,
        first_psn=parameters.first_psn,
        level=parameters.level,
        data=header(Opcode.DATA, parameters.level, marks=parameters.marks),
        ack=header(Opcode.ACK),
    )


def _reduction(reduction: Reduction | None) -> tuple[bool, int | None, int | None, int] | None:
    if reduction is None:
        return None
    return reduction.by == "ccu", reduction.rate_bps, reduction.sram_bytes, reduction.core_percent


def _type_of(data: Array | _engine.AgentArray) -> ElementType:
    return ElementType.INT32 if isinstance(data, _engine.AgentArray) else element_type(data)


def _bytes_of(data: Array) -> NDArray[np.uint8]:
    return np.ascontiguousarray(data, DTYPES[element_type(data)]).view(np.uint8)
