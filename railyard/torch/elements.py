# SPDX-License-Identifier: Apache-2.0
"""Conversion of tensors to bytes for the wire and back, and of PyTorch's reductions to those of frames."""

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

# For booleans, a sum is true if any value is true, and a product is true if all values are true.
_OF_BOOL = {Combine.REDUCE: Combine.MAXIMUM, Combine.PRODUCT: Combine.MINIMUM}

_BITWISE = (Combine.AND, Combine.OR, Combine.XOR)


def reduction_of(tensor: torch.Tensor, operation: object) -> tuple[ElementType, Combine]:
    """Return the element type and operation in frames for a reduction of PyTorch.

    Raises:
        ValueError: Frames do not support this reduction for the type of the tensor.
    """
    kind = _TYPES.get(tensor.dtype)
    combine = next((own for known, own in _OPERATIONS.items() if operation == known), None)
    if kind is None or combine is None:
        raise ValueError(
            f"railyard does not support the reduction {operation} of {tensor.dtype}; use another type"
        )
    if combine in _BITWISE and (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"railyard does not support {operation} of {tensor.dtype}; use a tensor of integers or bool"
        )
    if tensor.is_complex() and combine is not Combine.REDUCE:
        raise ValueError(
            f"railyard does not support {operation} of {tensor.dtype}; use a sum or average, or a real tensor"
        )
    if tensor.dtype == torch.bool:
        combine = _OF_BOOL.get(combine, combine)
    return kind, combine


@contextmanager
def plain() -> Iterator[None]:
    """Return a context whose tensor operations neither advance the clock nor record gradients."""
    with _disable_current_modes(), torch.no_grad():
        yield


def bytes_of(tensors: Sequence[torch.Tensor]) -> bytes:
    """Return the elements of tensors as bytes, one tensor after the other."""
    return b"".join(
        _flat(tensor.detach().contiguous().resolve_conj()).numpy().tobytes() for tensor in tensors
    )


def total_bytes(tensors: Sequence[torch.Tensor]) -> int:
    """Return the number of bytes of all elements of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def fill(tensors: Sequence[torch.Tensor], data: bytes) -> None:
    """Replace the elements of tensors by the bytes `data`, one tensor after the other."""
    done = 0
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        if size:
            own = torch.frombuffer(bytearray(data[done : done + size]), dtype=tensor.dtype)
            tensor.detach().copy_(own.view(tensor.shape))
        done += size


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)
