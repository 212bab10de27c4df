# SPDX-License-Identifier: Apache-2.0
"""Sets of paths from a source to a destination, chosen from the admitted paths of a graph.

The name of a routing strategy selects a path set. An installed package adds a path set by an entry point of
the group `railyard.strategies`. A scenario selects a function of a Python file as FILE.py:NAME:

    def first_two(paths, source, destination):
        return islice(paths.paths(source, destination, longest=4), 2)
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import cast
from zlib import crc32

from controller.errors import PlanError
from controller.paths.graph.admitted import AdmittedPaths
from controller.plan.entry import BUCKETS, Path, hops_of
from topologies.plugins.entry_points import Registry
from topologies.plugins.python_file import guarded

__all__ = [
    "GROUP",
    "PATH_SETS",
    "PathSet",
    "all_path",
    "edge_disjoint",
    "equal_cost",
    "find",
    "k_shortest",
    "names",
    "within_stretch",
]

GROUP = "railyard.strategies"
"""Entry point group of path sets in installed packages."""

PathSet = Callable[[AdmittedPaths, str, str], Iterable[Path]]
"""Yields the paths of a pair (source, destination), the preferred path first."""

# k: the number of shortest paths of the path set `k-shortest`.
_K = 8
# Hops beyond the shortest path that k-shortest and edge-disjoint paths may have.
_MORE_HOPS = 2
# Number of paths of a pair among which edge-disjoint paths, and paths for buckets, are chosen.
_SEEN = 256
# Hops beyond the shortest path that paths of the path set `stretch` may have.
_STRETCH = 1
# All paths of up to this many hops are candidates of all-path, as within a full mesh.
_SPREAD_HOPS = 2


def _up_to(paths: AdmittedPaths, source: str, destination: str, more: int) -> Iterable[Path]:
    fewest = paths.fewest_hops(source, destination)
    return () if fewest is None else paths.paths(source, destination, fewest + more)


def equal_cost(paths: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
    """Yield all paths of fewest hops."""
    return _up_to(paths, source, destination, 0)


def k_shortest(paths: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
    """Yield the 8 shortest paths, up to two hops longer than the shortest."""
    return islice(_up_to(paths, source, destination, _MORE_HOPS), _K)


def edge_disjoint(paths: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
    """Yield paths without an edge (a pair of neighbours) in common, chosen greedily, the shortest first."""
    used: set[frozenset[str]] = set()
    for path in islice(_up_to(paths, source, destination, _MORE_HOPS), _SEEN):
        hops = {frozenset(hop) for hop in hops_of(path)}
        if used.isdisjoint(hops):
            used |= hops
            yield path


def within_stretch(paths: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
    """Yield all paths up to one hop longer than the shortest."""
    return _up_to(paths, source, destination, _STRETCH)


def all_path(paths: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
    """Yield all paths of up to two hops; all shortest paths if these have more hops."""
    return paths.paths(source, destination, max(_SPREAD_HOPS, paths.fewest_hops(source, destination) or 0))


def _shortest(paths: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
    return islice(equal_cost(paths, source, destination), 1)


def _spread_over_buckets(paths: PathSet) -> PathSet:
    """Return a path set with up to 16 of another set's paths for a pair, a path for each bucket.

    The first 256 paths are considered, shorter paths first. If not all paths of the last length fit, every
    nth of them is taken: consecutive paths would all lead through the same few switches. A hash of the pair's
    names decides at which path the choice begins.
    """

    def spread(admitted: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
        known = list(islice(paths(admitted, source, destination), _SEEN))
        if len(known) <= BUCKETS:
            return known
        longest = len(known[BUCKETS - 1])
        shorter = [path for path in known if len(path) < longest]
        equal = [path for path in known if len(path) == longest]
        room, begin = BUCKETS - len(shorter), crc32(f"{source} {destination}".encode())
        return [*shorter, *(equal[(begin + turn * len(equal) // room) % len(equal)] for turn in range(room))]

    return spread


PATH_SETS: Mapping[str, PathSet] = {
    "all-path": _spread_over_buckets(all_path),
    "adaptive": _spread_over_buckets(all_path),
    "oblivious": _spread_over_buckets(all_path),
    "bitmap": _spread_over_buckets(all_path),
    "reps": _spread_over_buckets(all_path),
    "mixed": _spread_over_buckets(all_path),
    "shortest": _shortest,
    "detour": _spread_over_buckets(within_stretch),
    "borrow": _spread_over_buckets(within_stretch),
    "equal-cost": _spread_over_buckets(equal_cost),
    "k-shortest": k_shortest,
    "edge-disjoint": edge_disjoint,
    "stretch": _spread_over_buckets(within_stretch),
}
"""Path sets by the name of a routing strategy."""


def _checked(name: str, origin: str, chosen: object) -> PathSet:
    """Return a user's path set with a check of each path, and a limit of 16 paths."""
    if not callable(chosen):
        raise PlanError(f"strategy {name} is {chosen!r}, which is not a function", remedy="name a function")
    function = cast(PathSet, chosen)

    def paths(admitted: AdmittedPaths, source: str, destination: str) -> Iterable[Path]:
        result = guarded(origin, lambda: [tuple(path) for path in function(admitted, source, destination)])
        for path in result:
            if path[:1] != (source,) or path[-1:] != (destination,) or not admitted.admits(path):
                raise PlanError(
                    f"strategy {name} returned the path {' '.join(map(str, path))} from {source} "
                    f"to {destination}, which is not admitted",
                    remedy="return paths of neighbours from the source to the destination that the turn "
                    "rules admit, such as those of paths.paths()",
                )
        return result[:BUCKETS]

    return paths


_REGISTRY: Registry[PathSet] = Registry(
    "strategy",
    GROUP,
    PATH_SETS,
    _checked,
    PlanError,
    unknown="no strategy named {name!r} for graphs",
    known="use one of",
)


def names() -> tuple[str, ...]:
    """Return the names of all path sets; path sets of installed packages come last."""
    return _REGISTRY.names()


def find(name: str) -> PathSet:
    """Return the path set of a name or of FILE.py:NAME.

    Raises:
        PlanError: No path set has the name; the message lists close matches, or all names.
    """
    return _REGISTRY.find(name)
