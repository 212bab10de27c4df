# SPDX-License-Identifier: Apache-2.0
"""Standby paths: paths in buckets of weight 0, which carry data only after a failure or in congestion."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

from controller.paths.choice import PathChoice
from controller.plan.entry import BUCKETS, Pair, Path, hops_of

__all__ = ["add_standby_paths", "standby_beside_one"]

# An adaptive source with fewer paths to a destination gets standby paths of three hops as well.
_ENOUGH = 4
# Numbers of hops of standby paths that are no candidates, in the order of the search.
_LONGER = (3, 4)


def add_standby_paths(
    choice: PathChoice,
    routes: dict[Pair, tuple[Path, ...]],
    weights: dict[Pair, tuple[float, ...]],
    candidates: Mapping[Pair, Sequence[Path]],
    most: int,
    *,
    adaptive: bool,
) -> None:
    """Give up to `most` buckets of a pair to standby paths, which share no link with its paths in use.

    A link counts as shared in either direction, since a failure takes both directions.

    Standby paths come from the candidates first. If no candidate can stand by, permitted paths of three hops
    do, or paths of four hops if there are none of three. Pairs of adaptive sources that have fewer than four
    paths, standby paths included, get paths of three hops too.

    Args:
        choice: Permitted paths over the links that work.
        routes: The path of each of the 16 buckets, by pair; changed in place.
        weights: The weight of each bucket, by pair; changed in place. A missing pair has equal weights.
        candidates: Paths among which each pair may choose.
        most: Largest number of standby paths of a pair; 0 changes nothing.
        adaptive: Every pair gets standby paths; otherwise only pairs with a single path in use do.
    """
    for pair, paths in routes.items() if most else ():
        distinct = dict.fromkeys(paths)
        if len(distinct) > 1 and not adaptive:
            continue
        used = {link for path in distinct for link in _links_of(path)}
        others = [path for path in candidates[pair] if used.isdisjoint(_links_of(path))]
        if not others or (adaptive and len(distinct) + len(others) < _ENOUGH):
            others += _longer(choice, pair, used, others)
        others = others[: min(most, BUCKETS - len(distinct))]
        if not others:
            continue
        if len(distinct) == 1:
            routes[pair], weights[pair] = _beside_one(paths, others)
        else:
            routes[pair], weights[pair] = _beside_several(paths, weights.get(pair), others)


def _links_of(path: Path) -> set[frozenset[str]]:
    """Return the links of a path, each by the names of its two ends: a failure takes both directions."""
    return {frozenset(hop) for hop in hops_of(path)}


def _longer(choice: PathChoice, pair: Pair, used: Set[frozenset[str]], known: Sequence[Path]) -> list[Path]:
    """Return paths of three hops without a link in `used`; of four if there is none and `known` is empty."""
    for hops in _LONGER if choice.uses_longer_paths(*pair) else ():
        paths = [
            path
            for path in choice.paths_of_length(*pair, hops)
            if path not in known and used.isdisjoint(_links_of(path))
        ]
        if paths or known:
            return paths
    return []


def standby_beside_one(count: int) -> tuple[list[int], tuple[float, ...]]:
    """Return the buckets of `count` standby paths beside one path, and the weights of all buckets."""
    share = 1 / (BUCKETS - count)
    standby = [(number + 1) * BUCKETS // count - 1 for number in range(count)]
    return standby, tuple(0.0 if bucket in standby else share for bucket in range(BUCKETS))


def _beside_one(paths: Sequence[Path], others: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[float, ...]]:
    buckets = list(paths)
    standby, weights = standby_beside_one(len(others))
    for bucket, path in zip(standby, others, strict=True):
        buckets[bucket] = path
    return tuple(buckets), weights


def _beside_several(
    paths: Sequence[Path], exact: Sequence[float] | None, others: Sequence[Path]
) -> tuple[tuple[Path, ...], tuple[float, ...]]:
    """Give each standby path a bucket of the path with most buckets; paths in use keep their shares.

    Standby paths that remain when every path in use has a single bucket get none.
    """
    shares = dict.fromkeys(paths, 0.0)
    for path, weight in zip(paths, exact or [1 / BUCKETS] * BUCKETS, strict=True):
        shares[path] += weight
    buckets, counts = list(paths), Counter(paths)
    standby: set[int] = set()
    for other in others:
        path = max(shares, key=lambda path: counts[path])
        if counts[path] == 1:
            break
        counts[path] -= 1
        bucket = max(number for number, taken in enumerate(buckets) if taken == path)
        buckets[bucket] = other
        standby.add(bucket)
    return tuple(buckets), tuple(
        0.0 if bucket in standby else shares[path] / counts[path] for bucket, path in enumerate(buckets)
    )
