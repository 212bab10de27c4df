# SPDX-License-Identifier: Apache-2.0
"""Time of an iteration by size and bandwidth of the domains, bandwidth of the NICs, and batch.

Collectives take what the paper's equations say (`collectives`); nothing overlaps. Models and how they are cut
up are those of `papers.training`: activations are recomputed in the backward pass, TP adds up activations
twice a layer in each of three passes, PP hands them on, DP adds up gradients once. TP lies innermost, then DP
or PP, whichever is better, and of all layouts that fit into memory the fastest counts.

The paper's formulas for arithmetic are not known here: a GPU sustains a fixed share of its peak. Nor is the
cluster of its figures on bandwidth and domains. The 32,768 GPUs of its Table II and the batch of 4,096 that
it names elsewhere are taken, since of those tried they agree best; each figure says what other batches give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import final

from lab.errors import ModelError
from papers.claims.model_figure import Figure, Kind
from papers.rail_only.collectives import A100, Grid, Rates, allreduce
from papers.training.placement import layouts, memory_bytes
from papers.training.workload import (
    ACTIVATION_BYTES,
    ARITHMETIC,
    MODELS,
    PASSES,
    Axis,
    Layout,
    Model,
    layer_demands,
)

__all__ = [
    "BATCHES",
    "GPT_1T",
    "GPT_146B",
    "ORDERS",
    "PAPER",
    "Cluster",
    "Iteration",
    "best",
    "iteration",
    "iteration_figures",
    "percentages",
]

SEQUENCE = 2048
# Gradients are added up in half precision (assumed).
GRADIENT_BYTES = 2
# A domain that holds everything.
IDEAL = 1 << 30

# What the paper says, in % (Rail-only, evaluation).
EIGHT = "iteration of GPT-146B saved by domains of 8 over single GPUs"
LARGE = "iteration of GPT-146B saved by domains of 256 over 8"
SMALL_MODEL = "GPT-146B: domains of 256 slower than one of all GPUs"
LARGE_MODEL = "GPT-1T: domains of 256 slower than one of all GPUs"
HB_EIGHT = "saved by 9.6 over 2.4 Tbit/s in domains of 8"
HB_LARGE = "saved by 9.6 over 2.4 Tbit/s in domains of 256"
NIC_EIGHT = "saved by NICs of 400 over 100 Gbit/s, domains of 8"
NIC_LARGE = "saved by NICs of 400 over 100 Gbit/s, domains of 256"
PAPER = {
    EIGHT: 43.3,
    LARGE: 30.6,
    SMALL_MODEL: 4.1,
    LARGE_MODEL: 0.9,
    HB_EIGHT: 8.0,
    HB_LARGE: 13.3,
    NIC_EIGHT: 35.9,
    NIC_LARGE: 8.0,
}

# What the paper says is more, and than what: it ought to come out for any batch.
ORDERS = (
    ("from 1 to 8 GPUs a domain saves more than from 8 to 256", EIGHT, LARGE),
    ("the smaller model is slowed down more by domains that end", SMALL_MODEL, LARGE_MODEL),
    ("faster links inside are worth more in larger domains", HB_LARGE, HB_EIGHT),
    ("faster NICs are worth more with smaller domains", NIC_EIGHT, NIC_LARGE),
)

# Half and twice the batch that is taken show what hangs on it.
BATCHES = (2048, 4096, 8192)

GPT_146B = Model(
    "gpt-146b",
    "GPT-146B",
    80,
    12288,
    49152,
    96,
    96,
    "public: Megatron-LM's model of 145.6 billion parameters",
)
GPT_1T = MODELS["dense-1t"]


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """GPUs in domains of `domain`; each sustains a share of its `peak`, operations a second.

    Peak and memory (bytes) are an A100's (public), what it sustains is assumed.
    """

    gpus: int = 32768
    domain: int = 256
    rates: Rates = A100
    peak: float = 312e12
    sustained: float = 0.6
    memory: float = 80e9


@final
@dataclass(frozen=True, slots=True)
class Iteration:
    """Seconds of the whole, and of its parts, which add up to it."""

    layout: Layout
    arithmetic: float
    idle: float
    tensor: float
    handed: float
    gradients: float

    @property
    def seconds(self) -> float:
        return self.arithmetic + self.idle + self.tensor + self.handed + self.gradients


def iteration(
    model: Model, cluster: Cluster, layout: Layout, batch: int, *, data_inside: bool = True
) -> Iteration:
    """Return the iteration of a layout; DP is nested inside PP unless `data_inside` is False."""
    layers = model.layers // layout.pp
    micros = batch // (layout.dp * layout.micro)
    tokens = layout.micro * SEQUENCE
    forward = model.flops(SEQUENCE) * tokens / layout.tp / (cluster.peak * cluster.sustained)
    arithmetic = sum(ARITHMETIC) * forward * layers
    tensor = 0.0
    grid = _grid(cluster, layout.tp, 1)
    for demand in layer_demands(model, layout, SEQUENCE):
        if demand.axis is Axis.tp:
            took = allreduce(grid, demand.size, cluster.rates)
            tensor += PASSES * layers * demand.count * took
    handed = 0.0
    if layout.pp > 1:
        inside = layout.tp * (layout.dp if data_inside else 1) * 2 <= cluster.domain
        rate = cluster.rates.hb if inside else cluster.rates.nic
        # Forward and backward; the GPUs of a TP group hand on a part each.
        handed = 2 * 8 * tokens * model.hidden * ACTIVATION_BYTES / layout.tp / rate
    stride = layout.tp if data_inside else layout.tp * layout.pp
    weights = model.dense_parameters * layers / layout.tp * GRADIENT_BYTES
    gradients = allreduce(_grid(cluster, layout.dp, stride), weights, cluster.rates)
    return Iteration(
        layout=layout,
        arithmetic=micros * arithmetic,
        idle=(layout.pp - 1) * (arithmetic + tensor + handed),
        tensor=micros * tensor,
        handed=micros * handed,
        gradients=gradients,
    )


def _grid(cluster: Cluster, size: int, stride: int) -> Grid:
    """Return the grid of `size` GPUs, every `stride`-th: GPUs in a domain, and number of domains."""
    inside = max(1, min(size, cluster.domain // stride))
    return Grid(inside, size // inside)


@cache
def best(model: Model, cluster: Cluster, batch: int) -> Iteration:
    """Return the fastest of all layouts that fit into memory; ModelError when none does."""
    domain = cluster.domain
    if domain < 1 or domain & (domain - 1):
        raise ModelError(f"domains of {domain}", remedy="use a power of two")
    result = min(
        (
            iteration(model, cluster, layout, batch, data_inside=inner)
            for layout in _layouts(model, cluster, batch)
            for inner in (True, False)
        ),
        key=lambda item: item.seconds,
        default=None,
    )
    if result is None:
        raise ModelError(
            f"{model.title} does not fit on {cluster.gpus} GPUs with a batch of {batch}",
            remedy="use more GPUs, or a batch that they share out equally",
        )
    return result


def _layouts(model: Model, cluster: Cluster, batch: int) -> Iterator[Layout]:
    for layout in layouts(model, cluster.gpus, SEQUENCE, batch):
        if layout.sp == 1 and memory_bytes(model, layout, SEQUENCE, batch) <= cluster.memory:
            yield layout


def iteration_figures(cluster: Cluster | None = None) -> tuple[Figure, ...]:
    """Return the paper's percentages of iteration time beside those of this model; none is judged."""
    base = cluster or Cluster()
    few, taken, many = BATCHES
    less, ours, more = (percentages(base, batch) for batch in BATCHES)
    return tuple(
        Figure(
            name,
            "Rail-only, evaluation",
            paper,
            ours[name],
            "%",
            Kind.fitted,
            reason=f"the batch was set to {taken:,}, where most agree best; {few:,} gives "
            f"{less[name]:.1f} %, {many:,} {more[name]:.1f} %",
            digits=1,
        )
        for name, paper in PAPER.items()
    )


def percentages(base: Cluster, batch: int) -> dict[str, float]:
    """Return the percentages under the names of `PAPER`."""

    def took(domain: int, hb: float = A100.hb, nic: float = A100.nic, model: Model = GPT_146B) -> float:
        return best(model, replace(base, domain=domain, rates=Rates(hb, nic)), batch).seconds

    def saved(before: float, after: float) -> float:
        return 100 * (1 - after / before)

    def slower(model: Model) -> float:
        return 100 * (took(256, model=model) / took(IDEAL, model=model) - 1)

    return {
        EIGHT: saved(took(1), took(8)),
        LARGE: saved(took(8), took(256)),
        SMALL_MODEL: slower(GPT_146B),
        LARGE_MODEL: slower(GPT_1T),
        HB_EIGHT: saved(took(8), took(8, hb=9600e9)),
        HB_LARGE: saved(took(256), took(256, hb=9600e9)),
        NIC_EIGHT: saved(took(8, nic=100e9), took(8, nic=400e9)),
        NIC_LARGE: saved(took(256, nic=100e9), took(256, nic=400e9)),
    }
