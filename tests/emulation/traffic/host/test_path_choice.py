# SPDX-License-Identifier: Apache-2.0
"""First load-balance values of pairs of ranks, over the pairs of a step of a collective."""

from collections import Counter
from collections.abc import Iterable

import pytest

from emulation.traffic.host.path_choice import BUCKETS, first_lb

STRIDES = (1, 2, 8, 16, 64, 256)


def pairs_by_bucket(pairs: Iterable[tuple[int, int]]) -> list[int]:
    counts = Counter(first_lb(*pair) % BUCKETS for pair in pairs)
    return [counts[bucket] for bucket in range(BUCKETS)]


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("bit", [1, 2, 4, 8, 16])
def test_exchanges_by_a_bit_of_the_rank_begin_with_all_buckets_alike(stride: int, bit: int) -> None:
    exchanged = ((at * stride, (at ^ bit) * stride) for at in range(64))
    assert pairs_by_bucket(exchanged) == [4] * BUCKETS


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("rank", [0, 5, 63])
def test_a_rank_begins_with_all_buckets_alike_to_all_and_from_all(stride: int, rank: int) -> None:
    ranks = [at * stride for at in range(64)]
    assert pairs_by_bucket((rank, other) for other in ranks) == [4] * BUCKETS
    assert pairs_by_bucket((other, rank) for other in ranks) == [4] * BUCKETS


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("distance", [1, 2, 3, 8, 31, 32, 63])
def test_no_bucket_begins_more_than_twice_its_part_of_a_ring(stride: int, distance: int) -> None:
    ring = ((at * stride, (at + distance) % 64 * stride) for at in range(64))
    assert max(pairs_by_bucket(ring)) <= 2 * 4


def test_two_ranks_of_each_half_byte_have_a_value_of_their_own() -> None:
    assert len({first_lb(source, target) for source in range(16) for target in range(16)}) == 256
