# SPDX-License-Identifier: Apache-2.0
"""Placement of a layout's groups, and the layouts to choose from (UB-Mesh, §5.2).

The paper's rules: TP and SP use the domains with most bandwidth, PP and DP come last; SP x DP is a multiple
of EP; the layout fits into memory. Coordinates are assigned like digits: the first axis takes NPUs of a
board, then boards, then racks of a row, and so on outwards; the next axis continues where the first ends.
All sizes are powers of two, like the sizes of the fabric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import final

from harness.errors import ModelError
from papers.training.interconnect import DIMENSIONS, Group
from papers.training.workload import ACTIVATION_BYTES, GRADIENT_BYTES, Axis, Layout, Model

__all__ = ["INWARD", "ORDERS", "Placement", "layouts", "memory_bytes", "place"]

Order = tuple[Axis, ...]

# Axes from the innermost dimension outwards, as in the paper: DP or PP is outermost.
ORDERS: tuple[Order, ...] = ((Axis.tp, Axis.sp, Axis.pp, Axis.dp), (Axis.tp, Axis.sp, Axis.dp, Axis.pp))

# The first order reversed, TP outermost, to show what the paper's order gains.
INWARD: Order = (Axis.dp, Axis.pp, Axis.sp, Axis.tp)

# Bytes of a parameter in mixed-precision training with Adam (assumed): weight and gradient; and the
# optimizer's copy, mean and variance, which are distributed over the replicas.
WEIGHT_BYTES = ACTIVATION_BYTES + GRADIENT_BYTES
OPTIMIZER_BYTES = 12

# Bytes of a token and channel inside the layer being computed (assumed: attention's scores are not kept).
WORKING_BYTES = 34

# Number of blocks in which keys and values are gathered; a block is freed before the next (assumed).
KEY_BLOCKS = 8


@final
@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of a layout: the dimensions along which each group lies.

    Attributes:
        order: axes, innermost first.
        groups: group of each axis.
        replicas: group of NPUs that hold equal dense weights.
        expert_replicas: group of NPUs that hold equal experts.
    """

    layout: Layout
    order: Order
    groups: Mapping[Axis, Group]
    replicas: Group
    expert_replicas: Group

    @property
    def where(self) -> str:
        """Groups in words, such as `TP x8, SP y8 z4, DP pod8`."""
        return ", ".join(
            f"{axis} {' '.join(f'{name}{size}' for name, size in self.groups[axis])}"
            for axis in (*self.order, Axis.ep)
            if self.groups[axis]
        )


@cache
def place(layout: Layout, order: Order = ORDERS[0]) -> Placement:
    """Place a layout: its axes take dimensions in the order `order`, innermost first.

    Raises:
        ModelError: A size is not a power of two, or the layout has more NPUs than the interconnect.
    """
    left = dict(DIMENSIONS)
    groups = {axis: _take(left, layout.size(axis)) for axis in order}
    inner, outer = sorted((Axis.sp, Axis.dp), key=order.index)
    both = dict(groups[inner])
    for name, size in groups[outer]:
        both[name] = both.get(name, 1) * size
    replicas = tuple(both.items())
    experts = _take(both, layout.ep)
    apart = tuple((name, size) for name, size in both.items() if size > 1)
    return Placement(layout, order, groups | {Axis.ep: experts}, replicas, apart)


def _take(left: dict[str, int], wanted: int) -> Group:
    """Return a group of `wanted` NPUs, innermost dimension first; divide the sizes in `left` by its sizes.

    Raises:
        ModelError: `wanted` is not a power of two, or `left` is too small.
    """
    if wanted < 1 or wanted & (wanted - 1):
        raise ModelError(
            f"a group has {wanted} members, which is not a power of two", remedy="use a power of two"
        )
    taken = []
    for name, has in left.items():
        size = min(wanted, has)
        if size > 1:
            taken.append((name, size))
            left[name] //= size
            wanted //= size
    if wanted > 1:
        raise ModelError(
            f"the layout has more NPUs than the interconnect: a group needs {wanted} times as many",
            remedy="use fewer NPUs, or a smaller EP",
        )
    return tuple(taken)


def memory_bytes(model: Model, layout: Layout, sequence: int, batch: int) -> float:
    """Return the bytes of memory needed by an NPU of the first stage.

    A layer's input is kept for each micro-batch under way; other activations are recomputed.
    """
    layers = model.layers / layout.pp
    replicas = layout.sp * layout.dp
    dense = model.dense_parameters * layers / layout.tp
    sparse = model.sparse_parameters * layers / (layout.tp * layout.ep)
    weights = dense * (WEIGHT_BYTES + OPTIMIZER_BYTES / replicas)
    weights += sparse * (WEIGHT_BYTES + OPTIMIZER_BYTES * layout.ep / replicas)
    channels = layout.micro * sequence / layout.sp * model.hidden / layout.tp
    under_way = min(layout.pp, batch // (layout.dp * layout.micro))
    gathered = 2 * layout.micro * sequence * model.kv_width / layout.tp * GRADIENT_BYTES / KEY_BLOCKS
    return weights + channels * (ACTIVATION_BYTES * layers * under_way + WORKING_BYTES) + gathered


def layouts(model: Model, npus: int, sequence: int, batch: int) -> Iterator[Layout]:
    """Yield the layouts allowed by the rules, in a fixed order; memory is not checked."""
    for tp in _powers(min(npus, 64)):
        if model.heads % tp:
            continue
        for sp in _powers(min(npus // tp, sequence // 1024)):
            for pp in _powers(npus // (tp * sp)):
                dp = npus // (tp * sp * pp)
                if model.layers % pp or batch % dp:
                    continue
                for micro in _powers(min(8, batch // dp)):
                    for ep in _powers(min(model.experts, sp * dp)):
                        yield Layout(tp, sp, pp, dp, ep, micro)


def _powers(most: int) -> list[int]:
    """Return the powers of two up to `most`, ascending."""
    return [1 << exponent for exponent in range(most.bit_length())]
