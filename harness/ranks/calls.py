# SPDX-License-Identifier: Apache-2.0
"""A rank's part of an operation on the fabric: kind, data, element type."""

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
"""Operations on one array, and the kind of collective that does each."""

BLOCKS: dict[Kind, str] = {"all_gather": "all-gather", "reduce_scatter": "reduce-scatter"}
"""Operations on as many equal blocks as there are members, and the kind of collective that does each."""


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A member's call of an operation.

    Attributes:
        kind: The operation.
        data: Bytes that the member brings: its array (all_reduce, reduce, all_gather, gather, send), its
            blocks one after the other (reduce_scatter, all_to_all, scatter at the root), the root's array
            (broadcast); else none.
        block: Bytes of the array, or of one block where all blocks are equal.
        dtype: Type of the elements.
        op: What is done with elements that meet.
        root: Member that a rooted operation starts from or leads to; the sender of a send.
        sent: Bytes for each member of an all_to_all.
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
        """Fields in which the calls of all members must agree."""
        return self.kind, self.block, self.dtype, self.op, self.root

    def described(self) -> str:
        """Return the call in words, for an error."""
        size = f"{sum(self.sent)} bytes out" if self.kind == "all_to_all" else f"{self.block} bytes"
        return f"{self.kind} of {size}, {self.dtype.name.lower()}, {self.op.name.lower()}, root {self.root}"
