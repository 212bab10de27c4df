# SPDX-License-Identifier: Apache-2.0
"""Path probing: compute the values of a frame's load-balancing field, lb, that select a path (HPN).

The hash of p4/control/route/multipath.p4 is a function of three header fields: the addresses scna and dcna,
and lb (controller.forwarding.pipeline). So the path of a frame is known without sending the frame: the groups
of each switch on the path give the egress port for the hash of each of the 256 values of lb. In an HPN Pod,
only one switch of a path chooses by hash.
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
    """A path, and a value of the header field lb (load balancing) with which switches choose the path."""

    lb: int
    path: Path


def selected_members(hashes: ArrayLike, ways: int, shift: int = 0) -> Ints:
    """Return the index of the member that each hash selects in a group of `ways` members.

    The bits of the hash from bit `shift` on select the member.
    """
    return (np.asarray(hashes) >> shift & group_size(ways) - 1) % ways


def lb_by_member(scna: int, dcna: int, ways: int, shift: int = 0, lbs: Sequence[int] = ()) -> Ints:
    """Return, by member of a group, the first value of `lbs` that selects the member; -1 if there is none.

    `scna` and `dcna` are the addresses of the frame; the group has `ways` members, selected by the bits of
    the hash from `shift` on. `lbs` has all values of lb by default.
    """
    values = np.array(lbs or range(LB_VALUES))
    taken = selected_members(flow_hash(scna, dcna, values), ways, shift)
    result = np.full(ways, -1)
    result[taken[::-1]] = values[::-1]
    return result


def min_reached_members(ways: int, shift: int = 0, lbs: Sequence[int] = ()) -> int:
    """Return the least number of group members reached by the values `lbs`, over all addresses.

    `lbs` has all values of lb by default. The addresses of a frame flip the same bits of the hash for every
    value of lb, so the function tries all possible flips.
    """
    parts = lb_contributions()[np.array(lbs or range(LB_VALUES))]
    flips = np.arange(group_size(ways)) << shift
    return min(len(np.unique(selected_members(parts ^ flip, ways, shift))) for flip in flips)


@final
class PathProbe:
    """Paths of a plan for each value of lb, for frames of lb_mode 0.

    The source route decides the first part of a path; how long this part is depends on the plan's strategy.
    The hash decides the rest.

    Raises:
        PlanError: The fabric has a core of circuits, where the hash alone does not decide the rest.
    """

    def __init__(self, plan: Plan) -> None:
        self._scheme = scheme_of(plan)
        if self._scheme.moving_circuits:
            raise PlanError(
                f"{plan.fabric.name} has circuits, and the hash alone does not decide paths over circuits",
                remedy="use a fabric whose switches are joined by links",
            )
        self._plan = plan

    def lbs_by_path(self, source: str, destination: str) -> Mapping[Path, tuple[int, ...]]:
        """Return, by path, the values of lb that select the path; paths are sorted by their least value.

        Raises:
            PlanError: The tables do not lead to the destination.
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
        """Return paths without common hops between switches.

        The egress ports of the source take turns. At its turn, a port contributes its first path, in the
        order of the values of lb, that shares no hop between switches with the paths chosen before.

        Args:
            source: Source of the paths.
            destination: Destination of the paths.
            most: Largest number of paths; 0: no limit.
            order: Values of lb, the preferred value first. Sources with different orders use different
                uplinks.

        Raises:
            PlanError: The tables do not lead to the destination.
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
        """Return the values of lb in groups: all paths of a group are equal up to the first switch.

        If the source is linked to switches only, each group has an egress port of the source. Groups are
        sorted by their least value. Without source routes to the destination there is a single group.
        """
        number = self._plan.route_columns.paths.pairs.number((source, destination))
        return _lbs_by_part((0,) * BUCKETS if number is None else tuple(self._parts[number].tolist()))

    @cached_property
    def _parts(self) -> NDArray[np.uint8]:
        """Numbers of the paths of buckets up to the first switch, (pairs, 16).

        Each pair numbers its different paths up to the first switch from 0, by their first bucket.
        """
        routes = self._plan.route_columns
        return numbered_by_first_use(_first_parts(routes.paths)[routes.buckets])

    def group_sizes(self, source: str, destination: str) -> tuple[int, ...]:
        """Return the sizes of the groups on the path of a frame with lb 0, after its source-routed part.

        The size of a group is its number of distinct egress ports; groups with one port are left out.
        """
        begun = self._steered(source, destination)[0]
        if begun[-1] == destination:
            return ()
        path = table_path(self._scheme, source, destination, 0, begun)
        choices = (port_choice(self._scheme, name, destination) for name in path[len(begun) - 1 : -1])
        sizes = (len(set(choice.ports)) for choice in choices if choice is not None)
        return tuple(size for size in sizes if size > 1)

    def _steered(self, source: str, destination: str) -> Sequence[Path]:
        """Return, by bucket, the steered part of the path: the part that the source route decides."""
        paths = self._plan.routes.get((source, destination))
        if paths is None:
            return ((source,),) * BUCKETS
        return [self._scheme.until_hash(path) for path in paths]

    def _follow(self, begun: Path, destination: str, lbs: Ints) -> Iterator[tuple[Path, Ints]]:
        """Yield the paths that begin with `begun`, each with the values of `lbs` that select the path."""
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
                    remedy="make a plan in which the tables reach the destination",
                )
            waiting += [
                ((*path, following), chosen[ports == port])
                for port, following in neighbours.items()
                if following
            ]


def _first_parts(paths: PathColumns) -> NDArray[np.integer]:
    """Return a number for each path; paths of one source have equal numbers if they share the first part.

    The first part of a path ends at its first switch. Paths of different sources may have equal numbers.
    """
    nodes = paths.nodes
    switch = (nodes >= 0) & (columns(paths.fabric).tiers[nodes] > 0)
    behind = np.cumsum(switch, axis=1) > switch
    part = np.where(behind, -1, nodes)[:, 1:]
    if not (part[:, 1:] >= 0).any():
        return part[:, 0]
    return np.unique(part, axis=0, return_inverse=True)[1].reshape(-1)


@cache
def _lbs_by_part(parts: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the values of lb in groups: group n has the values whose bucket b has `parts[b] == n`."""
    lbs = np.arange(LB_VALUES)
    part = np.array(parts)[lbs % BUCKETS]
    return tuple(tuple(lbs[part == number].tolist()) for number in range(max(parts) + 1))
