# SPDX-License-Identifier: Apache-2.0
"""Repathing: replacement of silent paths, while no controller knows which link is at fault.

A path is silent if an agent has reported repeated timeouts of its frames on the path.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from controller.paths.choice import PathChoice
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import Path, hops_of

__all__ = ["repath"]

# From this many hops on, the search ends once it has any path, even if too few paths avoid all silent hops.
_SEARCHED_HOPS = 4


def repath(
    choice: PathChoice, routes: Sequence[Path | None], silent: Collection[Path]
) -> tuple[Path | None, ...]:
    """Return the paths of one destination with each silent path replaced, if there is a replacement.

    Any path that the turn rules permit and a source route steers can replace a silent path. Pairs that use
    no longer paths, such as those of strategies `shortest`, `tables` and `hashed`, choose among their
    candidates only.

    A bucket takes the path whose hops occur least often in silent paths. Among equals it takes the path whose
    hops occur least often in the paths chosen for earlier buckets, then the path of fewest hops. A path is
    chosen again only after all others have been chosen.

    Args:
        choice: Permitted paths over the links that work.
        routes: The path of each bucket; None for a bucket without a path.
        silent: The silent paths.
    """
    lost = [bucket for bucket, path in enumerate(routes) if path in silent]
    if not lost:
        return tuple(routes)
    uses = Counter(hop for path in silent for hop in hops_of(path))
    source, destination = next((path[0], path[-1]) for path in routes if path)
    others = _permitted(choice, source, destination, silent, uses, len(lost))
    chosen: Counter[tuple[str, str]] = Counter()
    new, left = list(routes), list(others)
    for bucket in lost if others else ():
        path = min(left, key=lambda path: (_count(uses, path), _count(chosen, path), len(path)))
        new[bucket] = path
        chosen.update(hops_of(path))
        left.remove(path)
        left = left or list(others)
    return tuple(new)


def _count(uses: Counter[tuple[str, str]], path: Path) -> int:
    return sum(uses[hop] for hop in hops_of(path))


def _permitted(
    choice: PathChoice,
    source: str,
    destination: str,
    silent: Collection[Path],
    uses: Counter[tuple[str, str]],
    wanted: int,
) -> list[Path]:
    """Return permitted paths other than the silent paths, fewest hops first.

    The search ends when `wanted` paths avoid all hops of silent paths, or at 4 hops if there is any path.
    """
    if not choice.uses_longer_paths(source, destination):
        return [path for path in choice.candidates(source, destination) if path not in silent]
    paths: list[Path] = []
    clear = 0
    for hops in range(1, MAX_INSTRUCTIONS + 1):
        longer = [path for path in choice.paths_of_length(source, destination, hops) if path not in silent]
        paths += longer
        clear += sum(not _count(uses, path) for path in longer)
        if clear >= wanted or (paths and hops >= _SEARCHED_HOPS):
            break
    return paths
