# SPDX-License-Identifier: Apache-2.0
"""A rank's call of an operation on the fabric: kind, data, element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from emulation.traffic.frames.values import Combine, ElementType

__all__ = ["BLOCKS", "WHOLE", "Call", "Kind"]

Kind = Literal[
    "all_reduce",
    "broadcast",
    "reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "gather",
    "scatter",
    "barrier",
    "send",
]

WHOLE: dict[Kind, str] = {
    "all_reduce": "allreduce",
    "barrier": "allreduce",
    "broadcast": "broadcast",
    "reduce": "reduce",
}
"""Operations on a single array per member, with the kind of collective that carries out each operation."""

BLOCKS: dict[Kind, str] = {"all_gather": "all-gather", "reduce_scatter": "reduce-scatter"}
"""Operations on one equal block per member, with the kind of collective that carries out each operation."""


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A member's call of an operation.

    Attributes:
        kind: The operation.
        data: Input of the member: its array (all_reduce, reduce, all_gather, gather, send), its concatenated
            blocks (reduce_scatter, all_to_all, scatter at the root), the array to distribute (broadcast at
            the root); empty otherwise.
        block: Size of the array, or of a block where all blocks are equal, in bytes.
        dtype: Type of the elements.
        op: Reduction of elements, such as a sum.
        root: Root of a broadcast, reduce, gather or scatter; sender of a send. An index into the group.
        sent: Bytes to each member of an all_to_all.
        received: Bytes from each member of an all_to_all.
    """

    kind: Kind
    data: bytes = b""
    block: int = 0
    dtype: ElementType = ElementType.UINT8
    op: Combine = Combine.REDUCE
    root: int = 0
    sent: tuple[int, ...] = ()
    received: tuple[int, ...] = ()

    @property
    def form(self) -> tuple[object, ...]:
        """Values that must be equal in the calls of all members."""
        return self.kind, self.block, self.dtype, self.op, self.root

    def described(self) -> str:
        """Return the call in words, for an error message."""
        size = f"{sum(self.sent)} sent bytes" if self.kind == "all_to_all" else f"{self.block} bytes"
        return f"{self.kind} of {size}, {self.dtype.name.lower()}, {self.op.name.lower()}, root {self.root}"
