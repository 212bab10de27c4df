# SPDX-License-Identifier: Apache-2.0
"""Language models, layouts of their training over NPUs, and the sends of an NPU in an iteration.

Collectives and their numbers follow our reading of Table 1 of UB-Mesh (an in-house MoE-2T); the reading gives
the table's message sizes and counts, and we apply it to other models. Each layer is computed three times
(forward, recomputed, backward). For each pass, layer and micro-batch an NPU takes part in:

- TP: two AllReduce of the activations, after attention and after the feed-forward part;
- SP: AllGather of keys and of values over the sequence; in the backward pass also ReduceScatter of their
  gradients, which take four bytes where activations take two;
- EP: two All-to-All, tokens to their experts and back, each NPU of a TP group with its own share of the
  tokens.

A micro-batch crosses from stage to stage forward and backward (PP); gradients, of four bytes, are added up
once an iteration, layer by layer (DP).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import final

__all__ = [
    "MODELS",
    "MOE_2T",
    "Axis",
    "Demand",
    "Layout",
    "Model",
    "Op",
    "layer_demands",
    "stage_demands",
    "table_1",
    "wire_bytes",
]

ACTIVATION_BYTES = 2
GRADIENT_BYTES = 4

# Passes: forward, recomputed, backward; the backward pass takes twice the arithmetic.
PASSES = 3
ARITHMETIC = (1, 1, 2)


class Axis(StrEnum):
    """Axis of parallelism: a layer's matrices, a sequence, experts, layers or the batch."""

    tp = "TP"
    sp = "SP"
    ep = "EP"
    pp = "PP"
    dp = "DP"


class Op(StrEnum):
    """A collective, under its name in Table 1 (UB-Mesh)."""

    allreduce = "AllReduce"
    allgather = "AllGather"
    reducescatter = "ReduceScatter"
    alltoall = "All-to-All"
    p2p = "P2P"


@final
@dataclass(frozen=True, slots=True)
class Model:
    """Shape of a language model.

    Attributes:
        name: key of MODELS.
        title: name as printed.
        hidden: width of a token's activations.
        ffn: inner width of an expert, or of the feed-forward part.
        heads: number of attention heads.
        kv_heads: number of heads of keys and values.
        source: origin of the shape.
        matrices: number of hidden x ffn matrices of an expert, or of the feed-forward part.
        experts: number of experts of a layer; 1 for a single feed-forward part.
        top_k: number of experts that process a token.
    """

    name: str
    title: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    source: str
    matrices: int = 2
    experts: int = 1
    top_k: int = 1

    @property
    def kv_width(self) -> int:
        """Width of a token's keys, and of its values."""
        return self.hidden * self.kv_heads // self.heads

    @property
    def attention_parameters(self) -> int:
        """Attention parameters of a layer."""
        return 2 * self.hidden * (self.hidden + self.kv_width)

    @property
    def expert_parameters(self) -> int:
        """Parameters of an expert of a layer, or of its feed-forward part."""
        return self.matrices * self.hidden * self.ffn

    @property
    def dense_parameters(self) -> int:
        """Parameters of a layer that process every token: all but experts."""
        return self.attention_parameters + (self.expert_parameters if self.experts == 1 else 0)

    @property
    def sparse_parameters(self) -> int:
        """Parameters of all experts of a layer; 0 with a single feed-forward part."""
        return self.experts * self.expert_parameters if self.experts > 1 else 0

    @property
    def parameters(self) -> int:
        """Parameters of all layers, without embeddings."""
        return self.layers * (self.dense_parameters + self.sparse_parameters)

    def flops(self, sequence: int) -> float:
        """Return the operations of a token's forward pass through a layer, with causal attention."""
        active = self.attention_parameters + self.top_k * self.expert_parameters
        return 2.0 * active + 2.0 * sequence * self.hidden


_CARD = "public model description"
_LAYERS = "layers and experts: UB-Mesh, Table 5; the rest"

MODELS: Mapping[str, Model] = {
    model.name: model
    for model in (
        Model(
            "llama2-70b", "Llama2-70B", 80, 8192, 28672, 64, 8, f"{_LAYERS}: {_CARD}", matrices=3
        ),
        Model("gpt3-175b", "GPT3-175B", 96, 12288, 49152, 96, 96, f"{_LAYERS}: {_CARD}"),
        Model(
            "dense-1t", "Dense-1T", 128, 25600, 102400, 160, 160,
            f"{_LAYERS}: assumed, Megatron-LM's 1T of 128 layers",
        ),
        Model(
            "gpt4-2t", "GPT4-2T", 96, 12288, 49152, 96, 96,
            f"{_LAYERS}, and 96 layers: assumed, GPT3-175B with 16 experts, two a token", experts=16, top_k=2,
        ),
        Model(
            "moe-10t", "MoE-10T", 128, 17408, 69632, 128, 128,
            f"{_LAYERS}, and 128 layers: assumed, 32 experts, two a token, hidden size so that it makes 10T",
            experts=32, top_k=2,
        ),
    )
}  # fmt: skip

MOE_2T = Model(
    "moe-2t", "MoE-2T", 128, 12288, 38400, 96, 96,
    "read off UB-Mesh, Table 1 (recalled); 128 layers in two stages, so that it makes 2T", experts=16,
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Number of NPUs along each axis; EP divides SP x DP. A micro-batch has `micro` sequences."""

    tp: int
    sp: int
    pp: int
    dp: int
    ep: int = 1
    micro: int = 1

    @property
    def npus(self) -> int:
        return self.tp * self.sp * self.pp * self.dp

    def size(self, axis: Axis) -> int:
        return getattr(self, axis.value.lower())

    def __str__(self) -> str:
        experts = f" EP{self.ep}" if self.ep > 1 else ""
        return f"TP{self.tp} SP{self.sp}{experts} PP{self.pp} DP{self.dp}, micro-batch {self.micro}"


@final
@dataclass(frozen=True, slots=True)
class Demand:
    """Collectives of one kind along an axis.

    Attributes:
        axis: axis of the group.
        op: the collective.
        size: bytes of the whole array for a collective that gathers or reduces; bytes of an NPU's own data
            for All-to-All and P2P.
        count: number of collectives.
        dense: for gradients, whether they belong to dense weights instead of experts.
    """

    axis: Axis
    op: Op
    size: float
    count: int
    dense: bool = True


@cache
def layer_demands(model: Model, layout: Layout, sequence: int, backward: bool = False) -> tuple[Demand, ...]:
    """Return an NPU's demands for a pass of a micro-batch through a layer."""
    tokens = layout.micro * sequence / layout.sp
    activations = tokens * model.hidden * ACTIVATION_BYTES
    keys = layout.micro * sequence * model.kv_width / layout.tp * ACTIVATION_BYTES
    demands = [Demand(Axis.tp, Op.allreduce, activations, 2), Demand(Axis.sp, Op.allgather, keys, 2)]
    if backward:
        gradients = keys * GRADIENT_BYTES / ACTIVATION_BYTES
        demands.append(Demand(Axis.sp, Op.reducescatter, gradients, 2))
    if model.experts > 1:
        demands.append(Demand(Axis.ep, Op.alltoall, activations / layout.tp * model.top_k, 2))
    return tuple(demand for demand in demands if layout.size(demand.axis) > 1)


@cache
def stage_demands(model: Model, layout: Layout, sequence: int) -> tuple[Demand, ...]:
    """Return the demands for a micro-batch crossing to the next stage, and for a layer's gradients."""
    activations = layout.micro * sequence / layout.sp * model.hidden * ACTIVATION_BYTES
    dense = model.dense_parameters / layout.tp * GRADIENT_BYTES
    sparse = model.sparse_parameters / (layout.tp * layout.ep) * GRADIENT_BYTES
    demands = []
    if layout.pp > 1:
        demands.append(Demand(Axis.pp, Op.p2p, activations, 1))
    if layout.sp * layout.dp > 1:
        demands.append(Demand(Axis.dp, Op.allreduce, dense, 1))
    if sparse and layout.sp * layout.dp > layout.ep:
        demands.append(Demand(Axis.dp, Op.allreduce, sparse, 1, dense=False))
    return tuple(demands)


def wire_bytes(demand: Demand, ranks: int) -> float:
    """Return the least bytes sent by an NPU of a group for a demand."""
    share = (ranks - 1) / ranks
    match demand.op:
        case Op.allreduce:
            return 2 * share * demand.size
        case Op.p2p:
            return demand.size
        case _:
            return share * demand.size


def table_1(passes: int = PASSES) -> dict[str, tuple[tuple[float, int], ...]]:
    """Return Table 1 as our reading gives it: MB of a message and number of messages, by kind.

    The paper's sizes are 192 MB of activations and 12 MB of tokens for experts, times (n - 1)/n for a group
    of n NPUs (1 MB = 2^20 bytes). Its counts are products of 64 layers, 13 micro-batches and the messages of
    a layer in three passes. Hence n is 16 for TP and SP and 8 for EP, and a stage has 64 layers.

    Args:
        passes: number of passes; 2 without recomputation.
    """
    layout = Layout(tp=16, sp=16, pp=2, dp=2, ep=8)
    sequence, micros = 8192 * layout.sp, 13
    layers = MOE_2T.layers // layout.pp
    rows: dict[tuple[Axis, Op, float], int] = {}
    for index in range(passes):
        for demand in layer_demands(MOE_2T, layout, sequence, backward=index == passes - 1):
            key = demand.axis, demand.op, wire_bytes(demand, layout.size(demand.axis)) / 2**20
            rows[key] = rows.get(key, 0) + demand.count * layers * micros
    gradients = 0.0
    for demand in stage_demands(MOE_2T, layout, sequence):
        if demand.axis is Axis.pp:
            rows[Axis.pp, Op.p2p, demand.size / 2**20] = 2 * micros
        else:
            replicas = layout.sp * layout.dp // (1 if demand.dense else layout.ep)
            gradients += wire_bytes(demand, replicas) / 2**20
    rows[Axis.dp, Op.allreduce, gradients] = layers
    table: dict[str, tuple[tuple[float, int], ...]] = {}
    for (axis, op, size), count in rows.items():
        kind = f"{axis} {Op.allgather if op is Op.reducescatter else op}"
        table[kind] = (*table.get(kind, ()), (size, count))
    return table
