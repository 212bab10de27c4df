# SPDX-License-Identifier: Apache-2.0
"""Tensors as bytes for the wire, and back; operations and element types of PyTorch as those of frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import _disable_current_modes

from emulation.traffic.frames.values import Combine, ElementType

__all__ = ["bytes_of", "fill", "plain", "reduction_of", "total_bytes"]

_TYPES = {
    torch.int32: ElementType.INT32,
    torch.float32: ElementType.FLOAT32,
    torch.int64: ElementType.INT64,
    torch.float64: ElementType.FLOAT64,
    torch.int8: ElementType.INT8,
    torch.uint8: ElementType.UINT8,
    torch.float16: ElementType.FLOAT16,
    torch.bfloat16: ElementType.BFLOAT16,
    torch.bool: ElementType.UINT8,
    torch.complex64: ElementType.FLOAT32,
    torch.complex128: ElementType.FLOAT64,
}

_OPERATIONS = {
    dist.ReduceOp.SUM: Combine.REDUCE,
    dist.ReduceOp.AVG: Combine.REDUCE,
    dist.ReduceOp.PRODUCT: Combine.PRODUCT,
    dist.ReduceOp.MIN: Combine.MINIMUM,
    dist.ReduceOp.MAX: Combine.MAXIMUM,
    dist.ReduceOp.BAND: Combine.AND,
    dist.ReduceOp.BOR: Combine.OR,
    dist.ReduceOp.BXOR: Combine.XOR,
}

# Truth values 0 and 1: a sum is true if any is, a product if all are.
_OF_BOOL = {Combine.REDUCE: Combine.MAXIMUM, Combine.PRODUCT: Combine.MINIMUM}

_BITWISE = (Combine.AND, Combine.OR, Combine.XOR)


def reduction_of(tensor: torch.Tensor, operation: object) -> tuple[ElementType, Combine]:
    """Return element type and operation of a reduction; ValueError if the wire has no such reduction."""
    kind = _TYPES.get(tensor.dtype)
    combine = next((own for known, own in _OPERATIONS.items() if operation == known), None)
    if kind is None or combine is None:
        raise ValueError(f"railyard: no reduction {operation} of {tensor.dtype}")
    if combine in _BITWISE and (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"railyard: {operation} of {tensor.dtype}; it takes integers and bool")
    if tensor.is_complex() and combine is not Combine.REDUCE:
        raise ValueError(f"railyard: {operation} of {tensor.dtype}; complex numbers have sums alone")
    if tensor.dtype == torch.bool:
        combine = _OF_BOOL.get(combine, combine)
    return kind, combine


@contextmanager
def plain() -> Iterator[None]:
    """Run operations on tensors that count as no computation and have no gradient."""
    with _disable_current_modes(), torch.no_grad():
        yield


def bytes_of(tensors: Sequence[torch.Tensor]) -> bytes:
    """Return the elements of tensors, one tensor after the other."""
    return b"".join(
        _flat(tensor.detach().contiguous().resolve_conj()).numpy().tobytes() for tensor in tensors
    )


def total_bytes(tensors: Sequence[torch.Tensor]) -> int:
    """Return the bytes of all elements of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def fill(tensors: Sequence[torch.Tensor], data: bytes) -> None:
    """Replace the elements of tensors, one tensor after the other."""
    done = 0
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        if size:
            own = torch.frombuffer(bytearray(data[done : done + size]), dtype=tensor.dtype)
            tensor.detach().copy_(own.view(tensor.shape))
        done += size


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)
