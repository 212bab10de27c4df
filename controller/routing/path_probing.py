# SPDX-License-Identifier: Apache-2.0
"""Path probing: the values of lb that select a path, computed from the switches' hash (HPN, path selection).

The hash of p4/control/multipath.p4 is a CRC-32, which is affine over GF(2): for texts of one length,
crc(x ^ y) = crc(x) ^ crc(y) ^ crc(0). So a frame's hash is the exclusive or of contributions of scna, dcna
and lb, and each of their 40 bits flips fixed bits of the hash. No probe frame is needed: three tables give
the hashes of all 256 values of lb, and the groups of the switches on the path give the selected members.
"""

import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from controller.errors import PlanError
from controller.plan import BUCKETS, Path, Plan
from controller.routing.all_path import until_first_switch
from controller.routing.paths import PathFinder, ocs_dimensions
from controller.routing.source_route import MAX_HOPS
from controller.tables.linear import lookup, table_path
from controller.tables.multipath import group_size, hash_shift
from controller.tables.segment import EgressPort
from topologies import Fabric

__all__ = [
    "LB_VALUES",
    "PathProbe",
    "ProbedPath",
    "flow_hash",
    "lb_by_member",
    "min_reached_members",
    "selected_members",
]

Ints = NDArray[np.int64]

LB_VALUES = 256

# First bit of each field in the 40 bits that are hashed, counted from the right, and its bits.
_SCNA, _DCNA, _LB = (24, 16), (8, 16), (0, 8)
_BYTES = 5
# Bits of the CRC that switches use.
_KEPT = 0xFFFF


@final
@dataclass(frozen=True, slots=True)
class ProbedPath:
    """A path and a value of lb that selects it."""

    lb: int
    path: Path


def flow_hash(scna: ArrayLike, dcna: ArrayLike, lb: ArrayLike) -> Ints:
    """Return the hash that switches use for frames of lb_mode 0, element by element."""
    ends = _hash_contributions(*_SCNA)[np.asarray(scna)] ^ _hash_contributions(*_DCNA)[np.asarray(dcna)]
    return ends ^ _hash_contributions(*_LB)[np.asarray(lb)] ^ (zlib.crc32(bytes(_BYTES)) & _KEPT)


def selected_members(hashes: ArrayLike, ways: int, shift: int = 0) -> Ints:
    """Return, by hash, the member of a group of `ways` that a switch selects by the bits from `shift` on."""
    return (np.asarray(hashes) >> shift & group_size(ways) - 1) % ways


def lb_by_member(scna: int, dcna: int, ways: int, shift: int = 0, lbs: Sequence[int] = ()) -> Ints:
    """Return, by member of a group, the least value of `lbs` (default: all) that selects it; -1 for none."""
    values = np.array(lbs or range(LB_VALUES))
    taken = selected_members(flow_hash(scna, dcna, values), ways, shift)
    found = np.full(ways, -1)
    found[taken[::-1]] = values[::-1]
    return found


def min_reached_members(ways: int, shift: int = 0, lbs: Sequence[int] = ()) -> int:
    """Return the fewest members of a group that a source reaches by `lbs` (default: all), for any addresses.

    The addresses flip the same bits of the hash for every value of lb; all possible flips are tried.
    """
    parts = _hash_contributions(*_LB)[np.array(lbs or range(LB_VALUES))]
    flips = np.arange(group_size(ways)) << shift
    return min(len(np.unique(selected_members(parts ^ flip, ways, shift))) for flip in flips)


@final
class PathProbe:
    """Paths that a plan's tables give to each value of lb, for frames of lb_mode 0.

    The source route decides the first part of a path, as the plan's strategy allows, and the hash the rest.
    PlanError for a core of circuits, where the hash alone does not decide.
    """

    def __init__(self, plan: Plan) -> None:
        if ocs_dimensions(plan.fabric):
            raise PlanError(
                f"{plan.fabric.name} has circuits: paths over them are not searched",
                remedy="use a fabric whose switches are joined by links",
            )
        self._plan = plan
        self._finder = PathFinder(plan.fabric, plan.failed, plan.hashing)

    def lbs_by_path(self, source: str, destination: str) -> Mapping[Path, tuple[int, ...]]:
        """Return all paths, in the order of their least value of lb, with the values that select each path.

        PlanError when the tables lead nowhere.
        """
        beginnings: dict[Path, list[int]] = {}
        for bucket, begun in enumerate(self._steered(source, destination)):
            beginnings.setdefault(begun, []).extend(range(bucket, LB_VALUES, BUCKETS))
        found: dict[Path, list[int]] = {}
        for begun, lbs in beginnings.items():
            for path, taken in self._follow(begun, destination, np.array(sorted(lbs))):
                found.setdefault(path, []).extend(taken.tolist())
        return {path: tuple(sorted(lbs)) for path, lbs in sorted(found.items(), key=lambda one: min(one[1]))}

    def disjoint_paths(
        self, source: str, destination: str, most: int = 0, order: Sequence[int] = range(LB_VALUES)
    ) -> tuple[ProbedPath, ...]:
        """Return paths of which no two share a link between switches, at most `most` unless it is 0.

        Ports take turns. Each turn takes the port's path that is disjoint from the paths before and whose
        value comes first in `order`, so that pairs with different orders use different uplinks.
        PlanError when the tables lead nowhere.
        """
        fabric = self._plan.fabric
        by_port: dict[Path, list[ProbedPath]] = {}
        asked = {lb: path for path, lbs in self.lbs_by_path(source, destination).items() for lb in lbs}
        known: set[Path] = set()
        for lb in order:
            path = asked[lb]
            if path not in known:
                known.add(path)
                by_port.setdefault(until_first_switch(fabric, path), []).append(ProbedPath(lb, path))
        turns, found = deque(deque(paths) for paths in by_port.values()), list[ProbedPath]()
        used: set[tuple[str, str]] = set()
        while turns and (not most or len(found) < most):
            waiting = turns.popleft()
            while waiting:
                one = waiting.popleft()
                between = {hop for hop in pairwise(one.path) if all(fabric.node(name).tier for name in hop)}
                if used.isdisjoint(between):
                    used |= between
                    found.append(one)
                    turns.append(waiting)
                    break
        return tuple(found)

    def lbs_by_port(self, source: str, destination: str) -> tuple[tuple[int, ...], ...]:
        """Return the values of lb by port, or by other steered part of a source route."""
        fabric = self._plan.fabric
        found: dict[Path, list[int]] = {}
        for bucket, path in enumerate(self._steered(source, destination)):
            found.setdefault(until_first_switch(fabric, path), []).extend(range(bucket, LB_VALUES, BUCKETS))
        return tuple(tuple(sorted(lbs)) for lbs in found.values())

    def group_sizes(self, source: str, destination: str) -> tuple[int, ...]:
        """Return the sizes of the groups on the path of a frame with lb 0."""
        begun = self._steered(source, destination)[0]
        if begun[-1] == destination:
            return ()
        path = table_path(self._finder, source, destination, 0, begun)
        groups = (lookup(self._finder, name, destination) for name in path[len(begun) - 1 : -1])
        return tuple(len(group) for group in groups if isinstance(group, tuple))

    def _steered(self, source: str, destination: str) -> Sequence[Path]:
        """Return the steered part of the path, by bucket."""
        paths = self._plan.routes.get((source, destination))
        if paths is None:
            return ((source,),) * BUCKETS
        if self._plan.strategy == "hashed":
            return [until_first_switch(self._plan.fabric, path) for path in paths]
        return paths

    def _follow(self, begun: Path, destination: str, lbs: Ints) -> Iterator[tuple[Path, Ints]]:
        """Yield the paths of frames with these values of lb after their steered part, with the values."""
        fabric, source = self._finder.fabric, begun[0]
        hashes = flow_hash(fabric.node(source).address, fabric.node(destination).address, lbs)
        waiting = [(begun, np.arange(len(lbs)))]
        while waiting:
            path, chosen = waiting.pop()
            node = path[-1]
            if node == destination:
                yield path, lbs[chosen]
                continue
            far = lookup(self._finder, node, destination)
            if not far or len(path) > MAX_HOPS:
                raise PlanError(
                    f"the tables lead from {source} to {destination} no further than {node}",
                    remedy="plan for links that join them",
                )
            if isinstance(far, str):
                waiting.append(((*path, far), chosen))
                continue
            shift = hash_shift(fabric, node, self._finder.hashing)
            taken = selected_members(hashes[chosen], len(far), shift)
            for way in np.unique(taken)[::-1].tolist():
                waiting.append(((*path, _neighbour(fabric, node, far[way])), chosen[taken == way]))


def _neighbour(fabric: Fabric, node: str, way: EgressPort) -> str:
    if isinstance(way, str):
        return way
    end = fabric.peer(node, way)
    assert end is not None
    return end.node


@cache
def _hash_contributions(first: int, bits: int) -> Ints:
    """Return the bits of the hash that each value of a field flips."""
    part = np.zeros(1, np.int64)
    nothing = zlib.crc32(bytes(_BYTES))
    for bit in range(first, first + bits):
        flipped = (zlib.crc32((1 << bit).to_bytes(_BYTES)) ^ nothing) & _KEPT
        part = np.concatenate([part, part ^ flipped])
    return part
