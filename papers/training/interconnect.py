# SPDX-License-Identifier: Apache-2.0
"""Interconnects for collectives: an NPU's lanes in each dimension, and the routes of data along it.

An interconnect has resources and routes (`Way`). A resource is a number of lanes of each NPU, in each
direction. A route is a list of resources that together carry a stage of a collective along a dimension. The
dimensions are x and y (in the rack), z and w (racks of a Pod), pod, and dcn.

A collective over several dimensions goes through them one after the other. Its data are split over orders of
the dimensions and over routes, so that the busiest resource is least busy. A small linear program finds the
split (derived here: the multi-ring split and the borrowing of idle links of UB-Mesh §5.1, in the limit of
many rings).

Let k nodes of a line be a full mesh, and let all groups of g nodes exchange data at once. A node then has
g - 1 direct links and k - g idle links. A detour takes two links of the line, so a node can use the bandwidth
of (g - 1) + (k - g)/2 links. A detour through other dimensions also needs a link of this dimension; it adds
nothing when all lines are equally busy.

Lanes are given by UB-Mesh or follow from it: x4 to each peer in the rack, and x16 towards other racks, of
which x12 go to the racks of the same row and column and x4 to the HRS. Alternative racks are those of §6.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Literal, final

import numpy as np

from harness.errors import ModelError
from papers.training.workload import Op

__all__ = [
    "DIMENSIONS",
    "Group",
    "Interconnect",
    "Leg",
    "Paths",
    "Rack",
    "Racks",
    "Use",
    "Way",
    "interconnect",
    "mesh",
]

# Sizes of a SuperPod's dimensions (UB-Mesh, §3.3); several SuperPods are joined by the datacenter network.
DIMENSIONS = (("x", 8), ("y", 8), ("z", 4), ("w", 4), ("pod", 8), ("dcn", 64))

NPU_LANES = 72
PEER_LANES = 4
UPLINK_LANES = 16

# Shares of a rack's 1,024 uplink lanes, x16 for each NPU: along the rack's row, along its column, to the HRS
# (derived: 3 x 128 lanes, 3 x 128 lanes, and the remaining 256).
ROW, COLUMN, HRS = 6 / 16, 6 / 16, 4 / 16

# The paper gives no lanes for the network between SuperPods; assumed: a quarter of the lanes to the HRS.
DCN_SHARE = 1 / 4

Rack = Literal["2d-fm", "1d-fm-a", "1d-fm-b", "clos"]
Racks = Literal["2d-fm", "clos"]
Paths = Literal["shortest", "detour", "borrow"]

# (dimension, size of the group along it); each dimension once, each size above 1.
Group = tuple[tuple[str, int], ...]


class Use(StrEnum):
    """Use of a resource by a route: direct links of a line, direct links and one-hop detours, or a port."""

    direct = "direct"
    detour = "detour"
    port = "port"


@final
@dataclass(frozen=True, slots=True)
class Leg:
    """A resource (a group of lanes) on a route, and how the route uses it; the use decides the load."""

    resource: str
    use: Use


Way = tuple[Leg, ...]


@final
@dataclass(frozen=True, eq=False)
class Interconnect:
    """Lanes of an NPU, and the routes along each dimension, from which `share` finds a collective's time.

    A resource is a group of an NPU's lanes with a common load, such as its lanes to switches of the rack.

    Attributes:
        lanes: lanes of an NPU, by name of the resource.
        ways: routes for a stage of a collective, by dimension; data are split over them.
        sizes: number of nodes of a line, by dimension.
    """

    name: str
    lanes: dict[str, float]
    ways: dict[str, tuple[Way, ...]]
    sizes: dict[str, int]
    _known: dict[tuple[Op, Group], float] = field(default_factory=dict, repr=False)

    @property
    def own_lanes(self) -> float:
        """Number of lanes of an NPU to all destinations together."""
        return sum(lanes for name, lanes in self.lanes.items() if name in ("x", "y", "lrs", "up"))

    def share(self, op: Op, group: Group) -> float:
        """Return the seconds of a collective of one byte if a lane carries one byte a second."""
        key = Op.allgather if op in (Op.allreduce, Op.reducescatter) else op, group
        if key not in self._known:
            self._known[key] = self._solved(*key)
        return self._known[key] * (2 if op is Op.allreduce else 1)

    def _solved(self, op: Op, group: Group) -> float:
        if not group:
            return 0.0
        if op is Op.p2p:  # stages are in snake order: consecutive stages differ in one dimension
            return max(
                self._least([self._loads(op, (item,), way) for way in self._choices((item,))])
                for item in group
            )
        orders = [group] if op is Op.alltoall else [group[turn:] + group[:turn] for turn in range(len(group))]
        return self._least(
            [self._loads(op, order, ways) for order in orders for ways in self._choices(order)]
        )

    def _choices(self, group: Group) -> Iterator[tuple[Way, ...]]:
        try:
            return product(*(self.ways[name] for name, _ in group))
        except KeyError as ex:
            raise ModelError(
                f"{self.name}: the interconnect has no dimension {ex}",
                remedy=f"place the group on dimensions among {', '.join(self.ways)}",
            ) from None

    def _loads(self, op: Op, order: Group, ways: Sequence[Way]) -> dict[str, float]:
        """Return the load of each resource in bytes for each byte of data, as if the resource had one lane.

        If a group can use only a share of a line's links, the load of these links is divided by this share.
        """
        loads: dict[str, float] = {}
        reach: dict[str, int] = {}
        held = 1.0
        for (name, size), way in zip(order, ways, strict=True):
            moved = 1.0 if op is Op.p2p else 1 - 1 / size
            if op is Op.allgather:
                moved, held = held * moved, held / size
            for leg in way:
                if leg.use is Use.port and op is Op.alltoall:
                    reach[leg.resource] = reach.get(leg.resource, 1) * size
                else:
                    usable = _usable(leg.use, self.sizes[name], 2 if op is Op.p2p else size)
                    loads[leg.resource] = loads.get(leg.resource, 0.0) + moved / usable
        for resource, ranks in reach.items():  # a switch carries all its dimensions in one stage
            loads[resource] = loads.get(resource, 0.0) + 1 - 1 / ranks
        return loads

    def _least(self, columns: Sequence[dict[str, float]]) -> float:
        """Return the load of the busiest resource when data are split over `columns` in the best way.

        A column has the load of each resource if all data take one route.
        """
        if len(columns) == 1:
            return max(load / self.lanes[name] for name, load in columns[0].items())
        from scipy.optimize import linprog

        names = list(self.lanes)
        loads = np.array([[column.get(name, 0.0) / self.lanes[name] for column in columns] for name in names])
        count = len(columns)
        result = linprog(
            np.r_[np.zeros(count), 1.0],
            A_ub=np.c_[loads, -np.ones(len(names))],
            b_ub=np.zeros(len(names)),
            A_eq=np.r_[np.ones(count), 0.0][None],
            b_eq=[1.0],
            method="highs",
        )
        return float(result.fun)


def _usable(use: Use, nodes: int, group: int) -> float:
    """Return the share of the links of a line of `nodes` that a group of `group` nodes can use."""
    if use is Use.port:
        return 1.0
    direct = group - 1
    return (direct if use is Use.direct else direct + (nodes - group) / 2) / (nodes - 1)


def interconnect(
    rack: Rack = "2d-fm",
    racks: Racks = "2d-fm",
    *,
    paths: Paths = "borrow",
    uplink: int = UPLINK_LANES,
    trade: bool = False,
    through: bool = True,
) -> Interconnect:
    """Return the interconnect of a rack design and of the network between racks.

    Args:
        rack: network in the rack.
        racks: network between the racks of a Pod.
        paths: paths between racks in a 2d-fm: direct links, also one-hop detours, or also the HRS.
        uplink: lanes of an NPU to other racks.
        trade: take the uplink lanes from the lanes to peers, so that an NPU has 72 lanes in all.
        through: let collectives inside the rack also use uplinks (2d-fm and 1d-fm-a; 1d-fm-b always does).

    Raises:
        ModelError: An NPU cannot have so many uplink lanes.
    """
    if uplink < 1 or uplink >= NPU_LANES:
        raise ModelError(f"an NPU cannot have {uplink} uplink lanes", remedy=f"use 1 to {NPU_LANES - 1}")
    peers = (NPU_LANES - uplink) / 2 if trade else 7.0 * PEER_LANES
    x, y, up = (Leg("x", Use.detour),), (Leg("y", Use.detour),), (Leg("up", Use.port),)
    out = (*up, Leg("hrs", Use.port))
    around = (up,) if through else ()
    lanes: dict[str, float]
    match rack:
        case "2d-fm":
            lanes = {"x": peers, "y": peers, "up": uplink, "hrs": uplink}
            inside = {"x": (x, *around), "y": (y, *around)}
        case "1d-fm-a":  # x16 to LRS for other boards, and as many to HRS
            lanes = {"x": peers, "lrs": uplink, "up": uplink, "hrs": uplink}
            across = ((Leg("lrs", Use.port),), *around)
            inside = {"x": (x, *across), "y": across}
        case "1d-fm-b":  # x32 to HRS for other boards and other racks
            lanes = {"x": peers, "up": 2 * uplink, "hrs": 2 * uplink}
            inside = {"x": (x, up), "y": (up,)}
        case "clos":  # all lanes to LRS, which join all NPUs of the rack and lead out of it
            lanes = {"up": NPU_LANES, "hrs": uplink}
            inside = {"x": (up,), "y": (up,)}
    outside: dict[str, tuple[Way, ...]] = {"z": (out,), "w": (out,)}
    if racks == "2d-fm":
        lanes |= {"z": ROW * lanes["hrs"], "w": COLUMN * lanes["hrs"], "hrs": HRS * lanes["hrs"]}
        use = Use.direct if paths == "shortest" else Use.detour
        for name in ("z", "w"):
            outside[name] = ((*up, Leg(name, use)), *((out,) if paths == "borrow" else ()))
    lanes["dcn"] = DCN_SHARE * HRS * uplink
    ways = {**inside, **outside, "pod": (out,), "dcn": ((*out, Leg("dcn", Use.port)),)}
    name = f"{rack}, {racks} between racks"
    return Interconnect(name, lanes, ways, dict(DIMENSIONS))


def mesh(dims: Sequence[int], lanes: float | Sequence[float] = 1.0) -> Interconnect:
    """Return a full mesh as emulated; `lanes` of a link are given for all dimensions or for each."""
    names = [name for name, _ in DIMENSIONS[: len(dims)]]
    each = [lanes] * len(dims) if isinstance(lanes, int | float) else lanes
    return Interconnect(
        f"full mesh {'x'.join(map(str, dims))}",
        {name: (size - 1) * own for name, size, own in zip(names, dims, each, strict=True)},
        {name: ((Leg(name, Use.detour),),) for name in names},
        dict(zip(names, dims, strict=True)),
    )
