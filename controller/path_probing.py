# SPDX-License-Identifier: Apache-2.0
"""Path probing: the values of lb that select a path, computed from the switches' hash (HPN, path selection).

The hash of p4/control/route/multipath.p4 is a function of scna, dcna and lb
(controller.forwarding.pipeline). So the path of a frame is known without sending it: the hashes of all 256
values of lb, looked up in the groups of the switches on the way, give the egress port of each value. In an
HPN Pod one switch chooses.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from controller.errors import PlanError
from controller.forwarding.next_hop import neighbour_at, port_choice, table_path
from controller.forwarding.pipeline import flow_hash, lb_contributions
from controller.paths.finder import until_first_switch
from controller.paths.source_route import MAX_HOPS
from controller.plan.entry import BUCKETS, Path
from controller.plan.path_columns import PathColumns
from controller.plan.plan import Plan
from controller.plan.routes import numbered_by_first_use
from controller.schemes.registry import scheme_of
from controller.tables.groups import group_size
from topologies.model.columns import columns

__all__ = [
    "LB_VALUES",
    "PathProbe",
    "ProbedPath",
    "lb_by_member",
    "min_reached_members",
    "selected_members",
]

Ints = NDArray[np.int64]

LB_VALUES = 256


@final
@dataclass(frozen=True, slots=True)
class ProbedPath:
    """A path and a value of lb that selects it."""

    lb: int
    path: Path


def selected_members(hashes: ArrayLike, ways: int, shift: int = 0) -> Ints:
    """Return, by hash, the member of a group of `ways` that a switch selects by the bits from `shift` on."""
    return (np.asarray(hashes) >> shift & group_size(ways) - 1) % ways


def lb_by_member(scna: int, dcna: int, ways: int, shift: int = 0, lbs: Sequence[int] = ()) -> Ints:
    """Return, by member of a group, the least value of `lbs` (default: all) that selects it; -1 for none."""
    values = np.array(lbs or range(LB_VALUES))
    taken = selected_members(flow_hash(scna, dcna, values), ways, shift)
    result = np.full(ways, -1)
    result[taken[::-1]] = values[::-1]
    return result


def min_reached_members(ways: int, shift: int = 0, lbs: Sequence[int] = ()) -> int:
    """Return the fewest members of a group that a source reaches by `lbs` (default: all), for any addresses.

    The addresses flip the same bits of the hash for every value of lb; all possible flips are tried.
    """
    parts = lb_contributions()[np.array(lbs or range(LB_VALUES))]
    flips = np.arange(group_size(ways)) << shift
    return min(len(np.unique(selected_members(parts ^ flip, ways, shift))) for flip in flips)


@final
class PathProbe:
    """Paths that a plan's tables give to each value of lb, for frames of lb_mode 0.

    The source route decides the first part of a path, as the plan's strategy allows, and the hash the rest.
    PlanError for a core of circuits, where the hash alone does not decide.
    """

    def __init__(self, plan: Plan) -> None:
        self._scheme = scheme_of(plan)
        if self._scheme.moving_circuits:
            raise PlanError(
                f"{plan.fabric.name} has circuits, over which paths cannot be searched",
                remedy="use a fabric whose switches are joined by links",
            )
        self._plan = plan

    def lbs_by_path(self, source: str, destination: str) -> Mapping[Path, tuple[int, ...]]:
        """Return all paths, in the order of their least value of lb, with the values that select each path.

        PlanError when the tables lead nowhere.
        """
        beginnings: dict[Path, list[int]] = {}
        for bucket, begun in enumerate(self._steered(source, destination)):
            beginnings.setdefault(begun, []).extend(range(bucket, LB_VALUES, BUCKETS))
        result: dict[Path, list[int]] = {}
        for begun, lbs in beginnings.items():
            for path, taken in self._follow(begun, destination, np.array(sorted(lbs))):
                result.setdefault(path, []).extend(taken.tolist())
        return {
            path: tuple(sorted(lbs)) for path, lbs in sorted(result.items(), key=lambda item: min(item[1]))
        }

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
        turns, result = deque(deque(paths) for paths in by_port.values()), list[ProbedPath]()
        used: set[tuple[str, str]] = set()
        while turns and (not most or len(result) < most):
            waiting = turns.popleft()
            while waiting:
                item = waiting.popleft()
                between = {
                    hop for hop in pairwise(item.path) if all(fabric.node(name).is_switch for name in hop)
                }
                if used.isdisjoint(between):
                    used |= between
                    result.append(item)
                    turns.append(waiting)
                    break
        return tuple(result)

    def lbs_by_port(self, source: str, destination: str) -> tuple[tuple[int, ...], ...]:
        """Return the values of lb by port, or by other steered part of a source route."""
        number = self._plan.route_columns.paths.pairs.number((source, destination))
        return _lbs_by_part((0,) * BUCKETS if number is None else tuple(self._parts[number].tolist()))

    @cached_property
    def _parts(self) -> NDArray[np.uint8]:
        """Number, within its pair, of the part up to the first switch that each bucket takes, (pairs, 16)."""
        routes = self._plan.route_columns
        return numbered_by_first_use(_first_parts(routes.paths)[routes.buckets])

    def group_sizes(self, source: str, destination: str) -> tuple[int, ...]:
        """Return the sizes of the groups on the path of a frame with lb 0."""
        begun = self._steered(source, destination)[0]
        if begun[-1] == destination:
            return ()
        path = table_path(self._scheme, source, destination, 0, begun)
        choices = (port_choice(self._scheme, name, destination) for name in path[len(begun) - 1 : -1])
        sizes = (len(set(choice.ports)) for choice in choices if choice is not None)
        return tuple(size for size in sizes if size > 1)

    def _steered(self, source: str, destination: str) -> Sequence[Path]:
        """Return the steered part of the path, by bucket."""
        paths = self._plan.routes.get((source, destination))
        if paths is None:
            return ((source,),) * BUCKETS
        return [self._scheme.until_hash(path) for path in paths]

    def _follow(self, begun: Path, destination: str, lbs: Ints) -> Iterator[tuple[Path, Ints]]:
        """Yield the paths of frames with these values of lb after their steered part, with the values."""
        fabric, source = self._plan.fabric, begun[0]
        hashes = flow_hash(fabric.node(source).address, fabric.node(destination).address, lbs)
        waiting: list[tuple[Path, Ints]] = [(begun, np.arange(len(lbs)))]
        while waiting:
            path, chosen = waiting.pop()
            node = path[-1]
            if node == destination:
                yield path, lbs[chosen]
                continue
            choice = port_choice(self._scheme, node, destination)
            members = np.zeros(0, np.int64) if choice is None else choice.of(hashes[chosen])
            ports = np.array([] if choice is None else choice.ports)[members]
            neighbours = {port: neighbour_at(fabric, node, port) for port in np.unique(ports).tolist()}
            if None in neighbours.values() or not neighbours or len(path) > MAX_HOPS:
                raise PlanError(
                    f"the tables lead from {source} to {destination} no further than {node}",
                    remedy="plan for links that join them",
                )
            waiting += [
                ((*path, following), chosen[ports == port])
                for port, following in neighbours.items()
                if following
            ]


def _first_parts(paths: PathColumns) -> NDArray[np.integer]:
    """Return, by path, a number for its part up to the first switch; paths of other sources may share it."""
    nodes = paths.nodes
    switch = (nodes >= 0) & (columns(paths.fabric).tiers[nodes] > 0)
    behind = np.cumsum(switch, axis=1) > switch
    part = np.where(behind, -1, nodes)[:, 1:]
    if not (part[:, 1:] >= 0).any():
        return part[:, 0]
    return np.unique(part, axis=0, return_inverse=True)[1].reshape(-1)


@cache
def _lbs_by_part(parts: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the values of lb by number of the steered part that their bucket takes."""
    lbs = np.arange(LB_VALUES)
    part = np.array(parts)[lbs % BUCKETS]
    return tuple(tuple(lbs[part == number].tolist()) for number in range(max(parts) + 1))
