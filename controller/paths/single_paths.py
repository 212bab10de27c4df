# SPDX-License-Identifier: Apache-2.0
"""Find the pairs of a mesh with a single permitted path, by exhaustive search."""

from collections.abc import Iterable

from controller.paths.choice import PathChoice
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import Pair

__all__ = ["pairs_with_one_path"]


def pairs_with_one_path(choice: PathChoice, pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs with exactly one permitted simple path that a source route can steer (up to 6 hops).

    The result leaves out pairs that may not use longer paths than their candidates.
    """
    return [pair for pair in pairs if choice.uses_longer_paths(*pair) and _count_to_two(choice, pair) == 1]


def _count_to_two(choice: PathChoice, pair: Pair) -> int:
    count = 0
    for hops in range(1, MAX_INSTRUCTIONS + 1):
        count += len(choice.paths_of_length(*pair, hops))
        if count > 1:
            return 2
    return count
