# SPDX-License-Identifier: Apache-2.0
"""Time of an iteration on an interconnect, and the layout and placement with the least time.

The paper gives no assumptions; ours are equal for all models, lengths and interconnects (`Assumptions`):

- Collectives of TP, SP and EP are cut into chunks, which overlap with the arithmetic that they wait for or
  feed. Let c be the time of a layer's arithmetic and m that of its collectives; the layer takes
  max(c, m) + min(c, m)/chunks.
- Gradients are added up layer by layer during the last micro-batch's backward pass, by the same formula with
  the layers as chunks.
- Micro-batches go through the stages one forward, one backward (1F1B). Each stage is idle for the time of
  stages - 1 micro-batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Annotated, final

from pydantic import Field

from harness.errors import ModelError
from harness.scenario.schema import Model as Checked
from harness.scenario.schema import Positive
from papers.training.interconnect import Group, Interconnect
from papers.training.placement import ORDERS, Placement, layouts, memory_bytes, place
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
class Assumptions(Checked):
    """Assumptions of the model, none of them the paper's; docs/fabrics/parallelism.md gives the reasons.

    Attributes:
        pflops: arithmetic that an NPU sustains, in 10^15 operations a second.
        memory_gb: memory of an NPU.
        lane_gbps: rate of a lane in each direction.
        chunks: number of chunks in which collectives overlap with arithmetic.
        latency_us: latency of each stage of a collective.
        tokens_per_npu: number of tokens of an iteration for each NPU.
        hide_gradients: add up gradients layer by layer during the last backward pass, instead of after it.
    """

    pflops: Positive = 0.5
    memory_gb: Positive = 128.0
    lane_gbps: Positive = 100.0
    chunks: Annotated[int, Field(ge=1, le=1024)] = 1
    latency_us: Annotated[float, Field(ge=0)] = 2.0
    tokens_per_npu: Annotated[int, Field(ge=1)] = 8192
    hide_gradients: bool = True

    def __hash__(self) -> int:
        return hash(tuple(self.model_dump().values()))

    @property
    def lane_bytes(self) -> float:
        """Rate of a lane in bytes a second."""
        return self.lane_gbps * 1e9 / 8


DEFAULTS = Assumptions()


@final
@dataclass(frozen=True, slots=True)
class Iteration:
    """Times of an iteration, in seconds.

    Attributes:
        placement: layout and placement.
        seconds: the whole iteration.
        arithmetic: arithmetic of an NPU.
        idle: idle time of a pipeline stage.
        exposed: collectives that arithmetic does not hide, without the gradients'.
        gradients: collectives of gradients that the backward pass does not hide.
        busy: all collectives of each axis, hidden or not.
        memory_bytes: bytes of memory that an NPU needs.
        tokens: number of tokens of the iteration.
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
        """Tokens a second for each NPU."""
        return self.tokens / self.seconds / self.layout.npus


def batch_of(npus: int, sequence: int, given: Assumptions = DEFAULTS) -> int:
    """Return the number of sequences of an iteration, a power of two.

    It is the power nearest, by logarithm, to the number that gives each NPU `tokens_per_npu` tokens.
    """
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
    """Return the time of two overlapping kinds of work; a chunk of the shorter one does not overlap."""
    return max(item, other) + min(item, other) / chunks


def best(
    model: Model, net: Interconnect, npus: int, sequence: int, given: Assumptions = DEFAULTS
) -> Iteration:
    """Return the iteration of the fastest layout and placement that fits into memory.

    Layouts are tried in ascending order of a lower bound: the time if collectives could use all lanes of an
    NPU. The search stops when the bound reaches the best time. The first of equally fast layouts wins.

    Raises:
        ModelError: No layout fits into memory.
    """
    batch = batch_of(npus, sequence, given)
    result: Iteration | None = None
    for bound, layout in _candidates(model, npus, sequence, batch, net.own_lanes, given):
        if result and bound >= result.seconds:
            break
        for order in ORDERS:
            item = iteration(model, net, place(layout, order), sequence, batch, given)
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
    """Return (lower bound in seconds, layout) of all layouts that fit into memory, ascending."""
    fitting = [
        (_bound(model, layout, sequence, batch, lanes * given.lane_bytes, given), layout)
        for layout in layouts(model, npus, sequence, batch)
        if memory_bytes(model, layout, sequence, batch) <= given.memory_gb * 1e9
    ]
    return tuple(sorted(fitting, key=lambda pair: pair[0]))


def _bound(
    model: Model, layout: Layout, sequence: int, batch: int, speed: float, given: Assumptions
) -> float:
    """Return a lower bound of an iteration's seconds: an NPU sends `speed` bytes a second at any time."""
    forward = _forward(model, layout, sequence, given)
    layer = 0.0
    for index, times in enumerate(ARITHMETIC):
        demands = layer_demands(model, layout, sequence, backward=index == len(ARITHMETIC) - 1)
        sent = sum(demand.count * wire_bytes(demand, layout.size(demand.axis)) for demand in demands)
        layer += _beside(times * forward, sent / speed, given.chunks)
    micros = batch // (layout.dp * layout.micro)
    return (micros + layout.pp - 1) * (model.layers // layout.pp) * layer


def _forward(model: Model, layout: Layout, sequence: int, given: Assumptions) -> float:
    """Return the seconds of arithmetic of the forward pass of a micro-batch through a layer."""
    tokens = layout.micro * sequence / layout.sp
    return model.flops(sequence) * tokens / layout.tp / (given.pflops * 1e15)


def linearity(
    model: Model, base: int, factor: int, net: Interconnect, given: Assumptions = DEFAULTS
) -> float:
    """Return the rate of an NPU among `base` x `factor` NPUs, divided by its rate among `base` NPUs.

    The batch grows with the number of NPUs; sequences have 256K tokens.
    """
    few, many = (best(model, net, npus, 256 * 1024, given) for npus in (base, base * factor))
    return many.rate / few.rate
