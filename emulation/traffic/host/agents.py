# SPDX-License-Identifier: Apache-2.0
"""Agents in C++ (emulation/engine/hosts), made from their descriptions; both testbeds run them.

The specification is the agent in Python of tests/oracle. Tests compare both frame by frame: given equal
frames at equal times both send equal frames, and end with equal arrays and statistics. A testbed calls no
Python for a frame.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from hashlib import sha512
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from emulation import _engine
from emulation.errors import EmulationError
from emulation.traffic.frames.values import ElementType, Opcode
from emulation.traffic.frames.wire import header
from emulation.traffic.host.checks import check_addresses, check_agent
from emulation.traffic.host.connections import Ends, ends_of
from emulation.traffic.host.iterations import IterationProfile, IterationReport
from emulation.traffic.host.participant import Output
from emulation.traffic.host.path_choice import BUCKETS, SprayChoice
from emulation.traffic.host.reduction import Reduction, ReductionStats
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import AgentStats, Failure
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import DTYPES, Array, agent_arrays, element_type
from emulation.traffic.schedule.schedule import Send

__all__ = ["Agent", "Common", "Parts", "RepeatingAgent", "make_agents", "transport_of"]

_ITEM_BYTES = 4

if not hasattr(_engine, "Participant"):
    raise EmulationError("the built engine is older than these sources", remedy="run `make setup`")


class Common:
    """Interface common to all agents; the engine defines its annotated members."""

    rank: int
    address: int
    _dtype: np.dtype[Any]
    array: Callable[[], Any]
    counts: Callable[[], tuple[int, int, int, int, int, int, int, dict[str, int], int, int]]
    reduction_counts: Callable[[], tuple[int, ...] | None]
    failure: Callable[[], tuple[int, int, int] | None]
    call_when_done: Callable[[Callable[[], None]], None]
    call_at_silence: Callable[[Callable[[int, int], None]], None]
    reroute: Callable[[list[tuple[int, int]], int], Output]

    @property
    def result(self) -> Array:
        """Array of the rank; it changes until the agent has finished."""
        return self.array().view(self._dtype)

    @property
    def stats(self) -> AgentStats:
        """Counts up to now."""
        reduced = self.reduction_counts()
        return AgentStats(*self.counts(), reduction=None if reduced is None else ReductionStats(*reduced))

    @property
    def failed(self) -> Failure | None:
        """The connection given up by the agent, if any."""
        failure = self.failure()
        return None if failure is None else Failure(self.rank, *failure)

    def on_reroute(self, routes: Mapping[int, frozenset[int]], now: int) -> Output:
        """Retransmit frames under way in re-routed buckets; `routes` has the buckets by destination CNA."""
        bits = [(address, sum(1 << bucket for bucket in buckets)) for address, buckets in routes.items()]
        return self.reroute(bits, now)

    def _set_on_done(self, call: Callable[[], None] | None) -> None:
        self.call_when_done(call or _nothing)

    def _set_on_repath(self, call: Callable[[int, frozenset[int]], None]) -> None:
        self.call_at_silence(lambda address, bits: call(address, _buckets_of(bits)))

    on_repath = property(
        fset=_set_on_repath, doc="Called with a peer's address and the buckets whose paths are silent."
    )
    on_done = property(fset=_set_on_done, doc="Called when all iterations or the collective have ended.")


def _buckets_of(bits: int) -> frozenset[int]:
    return frozenset(bucket for bucket in range(BUCKETS) if bits >> bucket & 1)


def _nothing() -> None:
    """Do nothing."""


@final
class Agent(Common, _engine.Agent):
    """A rank of a collective or of a traffic graph."""

    def __init__(
        self,
        spec: AgentSpec,
        part: _engine.Rank,
        data: Array | _engine.AgentArray,
        transport: _engine.Transport,
    ) -> None:
        array = data if isinstance(data, _engine.AgentArray) else _bytes_of(data)
        super().__init__(part, array, spec.job, transport, _reduction(spec.reduction))
        self.rank = spec.rank
        self.address = spec.addresses[spec.rank]
        self._dtype = DTYPES[_type_of(data)]

    @property
    def times(self) -> list[tuple[int, int]]:
        """(opening time, end time) of each task in ps, -1 for a time still to come; empty without tasks."""
        return self.spans

    @property
    def log(self) -> Sequence[IterationReport]:
        """Empty: the agent has no iterations."""
        return ()


@final
class RepeatingAgent(Common, _engine.RepeatingAgent):
    """A rank of a training job, alternating computation and a collective."""

    def __init__(self, spec: AgentSpec, part: _engine.Rank, data: Array, profile: IterationProfile) -> None:
        super().__init__(
            part,
            _bytes_of(data),
            profile.iterations,
            profile.compute_ps,
            profile.overlap_ps,
            transport_of(spec.transport),
            _reduction(spec.reduction),
        )
        self.rank = spec.rank
        self.address = spec.addresses[spec.rank]
        self.profile = profile
        self._marks = spec.transport.marks
        self._dtype = DTYPES[element_type(data)]

    @property
    def times(self) -> Sequence[tuple[int, int]]:
        """Empty: only the agents of traffic graphs report tasks."""
        return ()

    @property
    def log(self) -> Sequence[IterationReport]:
        """Reports of the ended iterations."""
        return [IterationReport(*report) for report in self.reports()]

    def set_level(self, level: int) -> None:
        """Set the service level of data, for iterations that have received no frame yet."""
        self.use_level(level, header(Opcode.DATA, level, marks=self._marks), header(Opcode.ACK))

    def _set_on_iteration(self, call: Callable[[int], None]) -> None:
        self.call_at_iteration(call)

    on_iteration = property(
        fset=_set_on_iteration, doc="Called with the number of an iteration that has ended."
    )


def make_agents(specs: Sequence[AgentSpec], threads: int = 1) -> list[Agent | RepeatingAgent]:
    """Return the agent of each description, in order; `threads` draw their arrays.

    EmulationError for a description that no agent can follow.
    """
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for index, spec in enumerate(specs):
        shared = (spec.sliced, spec.inputs, spec.addresses, spec.transport, spec.cache)
        groups[*map(id, shared), spec.profile is None].append(index)
    agents: dict[int, Agent | RepeatingAgent] = {}
    for indices in groups.values():
        group = [specs[index] for index in indices]
        agents |= zip(indices, _alike(group, threads), strict=True)
    return [agents[index] for index in range(len(specs))]


def _alike(specs: Sequence[AgentSpec], threads: int) -> list[Agent | RepeatingAgent]:
    """Return the agents of descriptions differing only in rank, job, profile and reduction."""
    first, parts = specs[0], Parts(specs[0])
    check_addresses(first.sliced, first.addresses)
    if first.profile is not None:
        return [_repeating(spec, parts) for spec in specs]
    arrays = agent_arrays(first.inputs, threads, [spec.rank for spec in specs])
    transport = transport_of(first.transport)
    return [_once(spec, parts, data, transport) for spec, data in zip(specs, arrays, strict=True)]


def _once(
    spec: AgentSpec, parts: Parts, data: Array | _engine.AgentArray, transport: _engine.Transport
) -> Agent:
    check_agent(spec.rank, spec.sliced, data)
    return Agent(spec, parts.of(spec.rank, _type_of(data)), data, transport)


def _repeating(spec: AgentSpec, parts: Parts) -> RepeatingAgent:
    data = spec.data
    check_agent(spec.rank, spec.sliced, data, repeats=True)
    assert spec.profile is not None
    return RepeatingAgent(spec, parts.of(spec.rank, element_type(data)), data, spec.profile)


@final
class Parts:
    """Maker of the engine's descriptions of ranks; ranks with equal slices share the table of slices."""

    def __init__(self, spec: AgentSpec) -> None:
        self._addresses = spec.addresses
        self._sliced = spec.sliced
        self._parameters = spec.transport
        self._slices: dict[int, _engine.Slices] = {}
        self._known = spec.cache.of(spec.sliced, spec.addresses, spec.transport)

    def of(self, rank: int, dtype: ElementType) -> _engine.Rank:
        """Return the description of a rank: its plans and its peers; a cached one if there is one."""
        known = self._known.get((rank, dtype))
        if known is None:
            known = self._known[rank, int(dtype)] = self._part(rank, dtype)
        return known

    def _part(self, rank: int, dtype: ElementType) -> _engine.Rank:
        plans = self._sliced.plans_of(rank)
        distinct = {id(plan): plan for plan in plans}
        position = {key: number for number, key in enumerate(distinct)}
        count = len(self._addresses)
        ends = list(ends_of(rank, distinct.values(), count, self._parameters))
        index = {end.rank: number for number, end in enumerate(ends)}
        sends: dict[Send, int] = {}
        for plan in distinct.values():
            for group in plan.releases:
                for send in group:
                    sends.setdefault(send, len(sends))
        return _engine.rank(
            self._slices_of(rank),
            rank=rank,
            ranks=count,
            address=self._addresses[rank],
            dtype=int(dtype),
            overlap=self._sliced.overlap,
            peers=[self._peer(end) for end in ends],
            sends=[(s.step, index.get(s.peer, -1), int(s.op), s.shift * _ITEM_BYTES, s.task) for s in sends],
            plans=[
                (
                    [(phase.step, int(phase.op), list(phase.sources), phase.task) for phase in plan.phases],
                    [[sends[send] for send in group] for group in plan.releases],
                )
                for plan in distinct.values()
            ],
            of_cell=[position[id(plan)] for plan in plans],
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
        """Return the engine's table of a rank's slices; ranks with the same `SliceTable` share it."""
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
        return (
            end.rank,
            self._addresses[end.rank],
            [lb & 0xFF for lb in end.lbs],
            [lb & 0xFF for lb in end.ack_lbs],
            paths,
            list(weights),
            [astuple(timing) for timing in timings],
            _seed_bytes(end.seed) if end.seed and len(end.lbs) > 1 else None,
        )


def _seed_bytes(seed: str) -> bytes:
    """Return the bytes of the integer made from the text `seed` by `random.Random`."""
    text = seed.encode()
    return text + sha512(text).digest()


def transport_of(parameters: TransportParameters) -> _engine.Transport:
    """Return the parameters of connections as the engine's object."""
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
        first_queue=parameters.first_queue,
        level=parameters.level,
        data=header(Opcode.DATA, parameters.level, marks=parameters.marks),
        ack=header(Opcode.ACK),
        congestion=None if parameters.congestion is None else parameters.congestion.engine_arguments(),
        credits=None if parameters.congestion is None else parameters.congestion.credits,
        lossy=parameters.lossy,
        go_back=parameters.go_back,
        **_spray(parameters.spray),
    )


def _spray(spray: SprayChoice | None) -> dict[str, Any]:
    if spray is None:
        return {}
    return {"spray": spray.algorithm, "entropies": spray.entropies, "seed": spray.seed}


def _reduction(reduction: Reduction | None) -> tuple[bool, int | None, int | None, int] | None:
    if reduction is None:
        return None
    return reduction.by == "ccu", reduction.rate_bps, reduction.sram_bytes, reduction.core_percent


def _type_of(data: Array | _engine.AgentArray) -> ElementType:
    return ElementType.INT32 if isinstance(data, _engine.AgentArray) else element_type(data)


def _bytes_of(data: Array) -> NDArray[np.uint8]:
    return np.ascontiguousarray(data, DTYPES[element_type(data)]).view(np.uint8)
