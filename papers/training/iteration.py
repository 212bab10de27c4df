# SPDX-License-Identifier: Apache-2.0
"""Time of an iteration on an interconnect, and the layout and placement with the least time.

Few assumptions, the same for all models, lengths and interconnects (`Assumptions`); the paper gives none of
them. A collective of TP, SP or EP goes in chunks beside the arithmetic that it waits for or feeds: of c and
m, the times of a layer's arithmetic and of its collectives, max(c, m) + min(c, m)/chunks remain. Gradients
are added up under the last micro-batch's backward pass, layer by layer, in the same way. Micro-batches go
through the stages one forward, one backward (1F1B): stages - 1 of them are idle time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log2
from typing import final

from harness.errors import ModelError
from papers.training.interconnect import Group, Interconnect
from papers.training.placement import ORDERS, Order, Placement, layouts, memory_bytes, place
from papers.training.workload import (
    ARITHMETIC,
    Axis,
    Demand,
    Layout,
    Model,
    Op,
    layer_demands,
    stage_demands,
    wire_bytes,
)

__all__ = ["Assumptions", "Iteration", "batch_of", "best", "iteration", "linearity"]


@final
@dataclass(frozen=True, slots=True)
class Assumptions:
    """None is the paper's; docs/fabrics/parallelism.md says how they came about.

    `pflops` is what an NPU sustains; `latency_us` of each stage of a collective. `hide_gradients`: gradients
    are added up layer by layer under the last backward pass, else after it.
    """

    pflops: float = 0.5
    memory_gb: float = 128.0
    lane_gbps: float = 100.0
    chunks: int = 1
    latency_us: float = 2.0
    tokens_per_npu: int = 8192
    hide_gradients: bool = True

    @property
    def lane_bytes(self) -> float:
        """A second."""
        return self.lane_gbps * 1e9 / 8


DEFAULTS = Assumptions()


@final
@dataclass(frozen=True, slots=True)
class Iteration:
    """Seconds: of the whole, of arithmetic alone, of idle stages, and what collectives add to them.

    `busy` is the time of all collectives of an axis, hidden or not.
    """

    placement: Placement
    seconds: float
    arithmetic: float
    idle: float
    exposed: float
    gradients: float
    busy: dict[Axis, float]
    memory_bytes: float
    tokens: int

    @property
    def layout(self) -> Layout:
        return self.placement.layout

    @property
    def rate(self) -> float:
        """Tokens a second of an NPU."""
        return self.tokens / self.seconds / self.layout.npus


def batch_of(npus: int, sequence: int, given: Assumptions = DEFAULTS) -> int:
    """Sequences of an iteration: the power of two nearest to `tokens_per_npu` of each, at least one."""
    return 2 ** max(0, round(log2(npus * given.tokens_per_npu / sequence)))


def iteration(
    model: Model,
    net: Interconnect,
    placement: Placement,
    sequence: int,
    batch: int,
    given: Assumptions = DEFAULTS,
) -> Iteration:
    """Return the times of an iteration with this placement on an interconnect, in seconds."""
    layout = placement.layout
    layers = model.layers // layout.pp
    micros = batch // (layout.dp * layout.micro)
    forward = _forward(model, layout, sequence, given)

    def seconds(demand: Demand, group: Group) -> float:
        share = net.share(demand.op, group)
        stages = len(group) * (2 if demand.op is Op.allreduce else 1)
        return demand.count * (demand.size * share / given.lane_bytes + stages * given.latency_us * 1e-6)

    busy = dict.fromkeys(Axis, 0.0)
    stage = 0.0
    for index, times in enumerate(ARITHMETIC):
        demands = layer_demands(model, layout, sequence, backward=index == len(ARITHMETIC) - 1)
        together = 0.0
        for demand in demands:
            took = seconds(demand, placement.groups[demand.axis])
            busy[demand.axis] += took * layers * micros
            together += took
        stage += layers * _beside(times * forward, together, given.chunks)
    arithmetic = sum(ARITHMETIC) * forward * layers
    handed = gradients = 0.0
    for demand in stage_demands(model, layout, sequence):
        if demand.axis is Axis.pp:
            handed = 2 * seconds(demand, placement.groups[Axis.pp])
            busy[Axis.pp] += handed * micros
        else:
            took = layers * seconds(demand, placement.replicas if demand.dense else placement.expert_replicas)
            busy[Axis.dp] += took
            gradients += took
    stage = _beside(stage, handed, given.chunks)
    backward = 2 * forward * layers
    late = _beside(backward, gradients, layers if given.hide_gradients else 1) - backward
    whole = (micros + layout.pp - 1) * stage + late
    return Iteration(
        placement=placement,
        seconds=whole,
        arithmetic=micros * arithmetic,
        idle=(layout.pp - 1) * stage,
        exposed=micros * (stage - arithmetic),
        gradients=late,
        busy=busy,
        memory_bytes=memory_bytes(model, layout, sequence, batch),
        tokens=batch * sequence,
    )


def _beside(item: float, other: float, chunks: int) -> float:
    """Two kinds of work in so many chunks, each chunk of the one before or after that of the other."""
    return max(item, other) + min(item, other) / chunks


def best(
    model: Model,
    net: Interconnect,
    npus: int,
    sequence: int,
    given: Assumptions = DEFAULTS,
    orders: tuple[Order, ...] = ORDERS,
) -> Iteration:
    """Return the fastest layout and placement that fits, the first of equals; ModelError when none fits.

    Layouts are looked at in the order of the time they would take if all lanes of an NPU led everywhere,
    until that alone is longer than the best found.
    """
    batch = batch_of(npus, sequence, given)
    result: Iteration | None = None
    for bound, layout in _candidates(model, npus, sequence, batch, net.own_lanes, given):
        if result and bound >= result.seconds:
            break
        for order in orders:
            item = iteration(model, net, _placed(layout, order), sequence, batch, given)
            if not result or item.seconds < result.seconds:
                result = item
    if result is None:
        raise ModelError(
            f"{model.title} with sequences of {sequence:,} tokens does not fit on {npus} NPUs",
            remedy="use more NPUs or shorter sequences",
        )
    return result


@cache
def _candidates(
    model: Model, npus: int, sequence: int, batch: int, lanes: float, given: Assumptions
) -> tuple[tuple[float, Layout], ...]:
    """Layouts that fit, with a time that none of them can beat if an NPU has so many lanes."""
    fitting = [
        (_bound(model, layout, sequence, batch, lanes * given.lane_bytes, given), layout)
        for layout in layouts(model, npus, sequence, batch)
        if memory_bytes(model, layout, sequence, batch) <= given.memory_gb * 1e9
    ]
    return tuple(sorted(fitting, key=lambda pair: pair[0]))


def _bound(
    model: Model, layout: Layout, sequence: int, batch: int, speed: float, given: Assumptions
) -> float:
    """Seconds, when an NPU can use all its bytes a second for any of its collectives."""
    forward = _forward(model, layout, sequence, given)
    layer = 0.0
    for index, times in enumerate(ARITHMETIC):
        demands = layer_demands(model, layout, sequence, backward=index == len(ARITHMETIC) - 1)
        sent = sum(demand.count * wire_bytes(demand, layout.size(demand.axis)) for demand in demands)
        layer += _beside(times * forward, sent / speed, given.chunks)
    micros = batch // (layout.dp * layout.micro)
    return (micros + layout.pp - 1) * (model.layers // layout.pp) * layer


def _forward(model: Model, layout: Layout, sequence: int, given: Assumptions) -> float:
    """Seconds of a layer and micro-batch."""
    tokens = layout.micro * sequence / layout.sp
    return model.flops(sequence) * tokens / layout.tp / (given.pflops * 1e15)


@cache
def _placed(layout: Layout, order: Order) -> Placement:
    return place(layout, order)


def linearity(
    model: Model,
    base: int,
    factor: int,
    net: Interconnect,
    sequence: int = 256 * 1024,
    given: Assumptions = DEFAULTS,
) -> float:
    """Rate of an NPU among `base` x `factor` NPUs over its rate among `base`; the batch grows with them."""
    many = best(model, net, base * factor, sequence, given)
    return many.rate / best(model, net, base, sequence, given).rate
