# SPDX-License-Identifier: Apache-2.0
"""Time of a training iteration by size and bandwidth of domains, bandwidth of NICs, and batch.

Inputs of the paper (Rail-only):

- clusters of 16,384, 32,768 and 65,536 H100, a batch of 4,096 for GPT-1T and of 1,024 for GPT-146B, bandwidth
  and arithmetic of a DGX GH200, the fastest of all layouts (section V-B, figure 8);
- a DGX GH200 gives a GPU 3.6 Tbit/s in its domain (section II-A) and 400 Gbit/s by its NIC (section III-B);
- GPT-1T for the bandwidths (section V-C, figure 9), and GPT-1T on 32,768 GPUs for the batch (section V-D,
  figure 10).

The paper does not print its formula. Times of collectives follow its equations (`collectives`). Models and
layouts are those of `papers.training`: TP reduces activations twice a layer in each pass, PP sends them to
the next stage, DP reduces gradients once. TP is innermost; next is DP or PP, whichever is faster. All other
inputs are assumptions (`Cluster`); `VARIANTS` changes them one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean
from typing import final

from harness.errors import ModelError
from papers.claims import Measured, Progress, Values
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
    "comparisons",
]

SEQUENCE = 2048
# Size of a domain that holds all GPUs.
IDEAL = 1 << 30

_SOURCE = "public: Megatron-LM's model of 145.6 billion parameters"
GPT_146B = Model(
    "gpt-146b", "GPT-146B", layers=80, hidden=12288, ffn=49152, heads=96, kv_heads=96, source=_SOURCE
)
GPT_1T = MODELS["dense-1t"]

# Rail-only, section V-B.
BATCHES: Mapping[Model, int] = {GPT_1T: 4096, GPT_146B: 1024}

# Bandwidths of figure 9, bit/s: of a GPU in its domain, and of its NIC (section V-C).
HB_RATES = (2400e9, 4800e9, 7200e9, 9600e9)
NIC_RATES = (100e9, 200e9, 400e9)


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, and the assumptions about an iteration.

    `gpus`, `domain` and `rates` are from the paper, `peak` and `memory` are public data of an H100. The paper
    does not give the rest.

    Attributes:
        domain: GPUs of a domain.
        rates: bandwidths of a GPU.
        peak: operations a second of a GPU.
        sustained: share of the peak that a GPU sustains.
        memory: bytes of a GPU's memory.
        hidden: share of the last backward pass that overlaps with the AllReduce of gradients.
        chunks: groups of layers in a pipeline stage; they divide its idle time.
        recomputed: activations are recomputed in the backward pass instead of kept.
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


# Name in tables -> changed assumption.
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
    """Seconds of the parts of an iteration; `seconds` is the sum.

    Attributes:
        layout: parallel layout.
        arithmetic: computation.
        idle: idle time of the pipeline.
        tensor: AllReduces of TP.
        handed: transfers between the stages of PP.
        gradients: AllReduce of DP not hidden by computation.
    """

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
    """Return the iteration of a layout; `data_inside` nests DP inside PP, otherwise PP inside DP."""
    layers = model.layers // layout.pp
    micros = batch // (layout.dp * layout.micro)
    tokens = layout.micro * SEQUENCE
    forward = model.flops(SEQUENCE) * tokens / layout.tp / (cluster.peak * cluster.sustained)
    # Passes: forward, recomputation, backward. Kept activations need no recomputation.
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
        # Bits from stage to stage, forward and backward; each GPU of a TP group sends a part of them.
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
    """Return the grid of a group of `size` GPUs with ranks `stride` apart."""
    inside = max(1, min(size, cluster.domain // stride))
    return Grid(inside, size // inside)


@cache
def best(model: Model, cluster: Cluster, batch: int) -> Iteration:
    """Return the iteration of the fastest layout that fits into memory; ModelError if no layout fits."""
    domain = cluster.domain
    if domain < 1 or domain & (domain - 1):
        raise ModelError(
            f"a domain has {domain} GPUs, which is not a power of two", remedy="use a power of two"
        )
    candidates = (
        iteration(model, cluster, layout, batch, data_inside=inner)
        for layout in layouts(model, cluster.gpus, SEQUENCE, batch)
        if layout.sp == 1 and memory_bytes(model, layout, SEQUENCE, batch) <= cluster.memory
        for inner in (True, False)
    )
    result = min(candidates, key=lambda item: item.seconds, default=None)
    if result is None:
        raise ModelError(
            f"{model.title} does not fit on {cluster.gpus} GPUs with a batch of {batch}",
            remedy="use more GPUs, or a batch that they share out equally",
        )
    return result


def figures(cluster: Cluster | None = None, hb: float = 1.0, nic: float = 1.0) -> dict[str, float]:
    """Return the percentages of this model for which the paper gives values, by name of the claim.

    Args:
        cluster: GPUs and assumptions; each figure replaces its domain and rates.
        hb: factor of all bandwidths inside domains.
        nic: factor of all bandwidths of NICs.
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


# Name of a comparison -> (the figure that is larger in the paper, the smaller figure).
_ORDERS = {
    "order-domains": ("domains-8", "domains-256"),
    "order-models": ("small-ideal", "large-ideal"),
    "order-hb": ("hb-256", "hb-8"),
    "order-nic": ("nic-8", "nic-256"),
}


def comparisons(note: Progress, hb: float = 1.0, nic: float = 1.0) -> Values:
    """Return the paper's comparisons of iteration times in percent, with their spread over assumptions.

    `hb` multiplies all bandwidths inside domains, `nic` all bandwidths of NICs.
    """
    note("searching layouts", 0.0)
    base = Cluster()
    ours = figures(base, hb, nic)
    others = []
    for done, changes in enumerate(VARIANTS.values()):
        note("other assumptions", done / len(VARIANTS))
        others.append(figures(replace(base, **changes), hb, nic))

    def spread(values: list[float]) -> str:
        return f"{min(values):.1f} to {max(values):.1f} with other assumptions"

    result: dict[str, Measured | float] = {}
    for name in ours:
        result[name] = Measured(ours[name], detail=spread([other[name] for other in others]))
    for name, (more, less) in _ORDERS.items():
        result[name] = Measured(
            ours[more] - ours[less], detail=spread([other[more] - other[less] for other in others])
        )
    return result
