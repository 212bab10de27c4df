# SPDX-License-Identifier: Apache-2.0
"""Cuts of arrays into parts, and of the ranks of a grid into lines."""

from collections.abc import Sequence
from itertools import accumulate, pairwise, product
from math import prod

from emulation.errors import EmulationError

__all__ = ["cut", "cut_by", "lines", "strides"]


def cut(low: int, high: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range into parts whose lengths differ by at most one; return the (begin, end) of each."""
    size = high - low
    ends = [low + size * part // parts for part in range(parts + 1)]
    return list(pairwise(ends))


def cut_by(low: int, high: int, shares: Sequence[float]) -> list[tuple[int, int]]:
    """Return (begin, end) of parts of a range in proportion to shares; equal shares divide as `cut` does."""
    if not shares or min(shares) < 0 or not sum(shares) > 0:
        raise EmulationError(
            f"the shares {list(shares)} cannot divide a range; give shares of at least 0, not all of them 0"
        )
    if min(shares) == max(shares):
        return cut(low, high, len(shares))
    total = sum(shares)
    ends = [low + round((high - low) * done / total) for done in accumulate(shares, initial=0.0)]
    return list(pairwise(ends))


def strides(dims: Sequence[int]) -> list[int]:
    """Return the difference of ranks for each coordinate's step; the first dimension varies fastest."""
    return list(accumulate(dims[:-1], lambda stride, size: stride * size, initial=1))


def lines(dims: Sequence[int], over: Sequence[int]) -> list[tuple[int, ...]]:
    """Return groups of ranks that differ only in the dimensions `over`; the first of these varies fastest."""
    if sorted(set(over)) != sorted(over) or not all(0 <= d < len(dims) for d in over):
        raise EmulationError(
            f"a mesh of {len(dims)} dimensions has no groups over dimensions {tuple(over)}",
            remedy=f"give dimensions from 0 to {len(dims) - 1}, each once",
        )
    stride = strides(dims)
    rest = [d for d in range(len(dims)) if d not in over]
    members = [
        sum(coordinate * stride[d] for coordinate, d in zip(coordinates[::-1], over, strict=True))
        for coordinates in product(*(range(dims[d]) for d in reversed(over)))
    ]
    bases = [
        sum(coordinate * stride[d] for coordinate, d in zip(coordinates[::-1], rest, strict=True))
        for coordinates in product(*(range(dims[d]) for d in reversed(rest)))
    ]
    assert len(members) * len(bases) == prod(dims)
    return [tuple(base + member for member in members) for base in bases]
