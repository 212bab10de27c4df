# SPDX-License-Identifier: Apache-2.0
"""Sums of sparse tensors: each member sends its indices and values to all other members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from railyard.torch.elements import plain

__all__ = ["all_reduce_sparse"]

Exchange = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], dist.Work]


def all_reduce_sparse(tensor: torch.Tensor, size: int, exchange: Exchange) -> None:
    """Replace a sparse tensor by the sum over all members, added in the order of ranks.

    `exchange(outputs, inputs)` is the all-to-all of the group, which has `size` members.
    """
    with plain():
        own = tensor.detach().coalesce()
        count = torch.tensor([own.values().size(0)])
        counts = [torch.empty_like(count) for _ in range(size)]
        exchange(counts, [count] * size).wait()
        parts = []
        for given in (own.indices().t().contiguous(), own.values()):
            outputs = [given.new_empty((int(number), *given.shape[1:])) for number in counts]
            exchange(outputs, [given] * size).wait()
            parts.append(outputs)
        total = torch.zeros_like(own)
        for indices, values in zip(*parts, strict=True):
            total = total + torch.sparse_coo_tensor(indices.t(), values, own.shape)
        tensor.copy_(total.coalesce())  # copying to `tensor.detach()` would leave `tensor` itself unchanged
