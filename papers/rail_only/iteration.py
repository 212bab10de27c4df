# SPDX-License-Identifier: Apache-2.0
"""Time of an iteration by size and bandwidth of the domains, bandwidth of the NICs, and batch.

Inputs of the paper (Rail-only):

- clusters of 16,384, 32,768 and 65,536 H100, a batch of 4,096 for GPT-1T and of 1,024 for GPT-146B, bandwidth
  and arithmetic of a DGX GH200, every layout tried and the fastest taken (section V-B, figure 8);
- a DGX GH200 gives a GPU 3.6 Tbit/s in its domain (section II-A) and 400 Gbit/s by its NIC (section III-B);
- GPT-1T for the bandwidths (section V-C, figure 9), and GPT-1T on 32,768 GPUs for the batch (section V-D,
  figure 10).

The paper does not print its formula. Collectives take what its equations say (`collectives`). Models and
layouts are those of `papers.training`: TP adds up activations twice a layer in each pass, PP hands them on,
DP adds up gradients once. TP lies innermost, then DP or PP, whichever is better. What else a figure needs is
an assumption (`Cluster`), and `VARIANTS` changes the assumptions one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean
from typing import final

from harness.errors import ModelError
from papers.rail_only.collectives import H100, Grid, Rates, allreduce
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
    "IDEAL",
    "VARIANTS",
    "Cluster",
    "Iteration",
    "best",
    "figures",
    "iteration",
]

SEQUENCE = 2048
# A domain that holds everything.
IDEAL = 1 << 30

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

# Rail-only, section V-B.
BATCHES: Mapping[Model, int] = {GPT_1T: 4096, GPT_146B: 1024}

# Bandwidths of figure 9: of a GPU in its domain, and of its NIC (section V-C).
HB_RATES = (2400e9, 4800e9, 7200e9, 9600e9)
NIC_RATES = (100e9, 200e9, 400e9)


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """GPUs in domains of `domain`, and the assumptions on which an iteration's time rests.

    `gpus`, `domain` and `rates` are the paper's. The others are assumptions, which the paper does not print:
    `peak` (operations a second) and `memory` (bytes) are an H100's (public); a GPU sustains a share of its
    peak; gradients have `gradient_bytes` each and a share `hidden` of the last backward pass covers their
    AllReduce; a pipeline stage holds `chunks` groups of layers, which divides its idle time; activations are
    recomputed, or kept.
    """

    gpus: int = 32768
    domain: int = 256
    rates: Rates = H100
    peak: float = 989e12
    sustained: float = 0.6
    memory: float = 80e9
    gradient_bytes: int = 2
    hidden: float = 0.0
    chunks: int = 1
    recomputed: bool = True


# Assumptions changed one at a time, by their name in tables.
VARIANTS: Mapping[str, Mapping[str, float]] = {
    "40 % of peak": {"sustained": 0.4},
    "80 % of peak": {"sustained": 0.8},
    "gradients of 4 bytes": {"gradient_bytes": 4},
    "gradients added up under the backward pass": {"hidden": 1.0},
    "4 chunks a stage": {"chunks": 4},
    "activations kept": {"recomputed": False},
    "16,384 GPUs": {"gpus": 16384},
    "65,536 GPUs": {"gpus": 65536},
}


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
    # Forward, recomputed, backward; kept activations spare the second.
    passes, times = (PASSES, sum(ARITHMETIC)) if cluster.recomputed else (PASSES - 1, sum(ARITHMETIC) - 1)
    arithmetic = times * forward * layers
    tensor = 0.0
    grid = _grid(cluster, layout.tp, 1)
    for demand in layer_demands(model, layout, SEQUENCE):
        if demand.axis is Axis.tp:
            took = allreduce(grid, demand.size, cluster.rates)
            tensor += passes * layers * demand.count * took
    handed = 0.0
    if layout.pp > 1:
        inside = layout.tp * (layout.dp if data_inside else 1) * 2 <= cluster.domain
        rate = cluster.rates.hb if inside else cluster.rates.nic
        # Forward and backward; the GPUs of a TP group hand on a part each.
        handed = 2 * 8 * tokens * model.hidden * ACTIVATION_BYTES / layout.tp / rate
    stride = layout.tp if data_inside else layout.tp * layout.pp
    weights = model.dense_parameters * layers / layout.tp * cluster.gradient_bytes
    gradients = allreduce(_grid(cluster, layout.dp, stride), weights, cluster.rates)
    gradients = max(0.0, gradients - cluster.hidden * 2 * forward * layers)
    return Iteration(
        layout=layout,
        arithmetic=micros * arithmetic,
        idle=(layout.pp - 1) * (arithmetic + tensor + handed) / cluster.chunks,
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
        raise ModelError(
            f"a domain has {domain} GPUs, which is not a power of two", remedy="use a power of two"
        )
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


def figures(cluster: Cluster | None = None, hb: float = 1.0, nic: float = 1.0) -> dict[str, float]:
    """Return the paper's percentages as this model has them, by the name of their claim.

    Args:
        cluster: GPUs and assumptions; its domain and rates are replaced by those of each figure.
        hb: factor on all bandwidths inside of domains.
        nic: factor on all bandwidths of NICs.
    """
    base = cluster or Cluster()

    def took(model: Model, domain: int, batch: int = 0, rates: Rates = H100) -> float:
        scaled = Rates(hb * rates.hb, nic * rates.nic)
        return best(model, replace(base, domain=domain, rates=scaled), batch or BATCHES[model]).seconds

    def saved(before: float, after: float) -> float:
        return 100 * (1 - after / before)

    result = {
        "domains-8": saved(took(GPT_146B, 1), took(GPT_146B, 8)),
        "domains-256": saved(took(GPT_146B, 8), took(GPT_146B, 256)),
        "small-ideal": 100 * (took(GPT_146B, 256) / took(GPT_146B, IDEAL) - 1),
        "large-ideal": 100 * (took(GPT_1T, 256) / took(GPT_1T, IDEAL) - 1),
    }
    for domain in (8, 256):
        seconds = {
            (inside, own): took(GPT_1T, domain, rates=Rates(inside, own))
            for inside in HB_RATES
            for own in NIC_RATES
        }
        result[f"hb-{domain}"] = mean(
            saved(seconds[HB_RATES[0], own], seconds[HB_RATES[-1], own]) for own in NIC_RATES
        )
        result[f"nic-{domain}"] = mean(
            saved(seconds[inside, NIC_RATES[0]], seconds[inside, NIC_RATES[-1]]) for inside in HB_RATES
        )
        for batch in (256, 4096):
            ideal = took(GPT_1T, IDEAL, batch)
            result[f"batch-{domain}-{batch}"] = 100 * ideal / took(GPT_1T, domain, batch)
    return result
