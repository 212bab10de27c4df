# SPDX-License-Identifier: Apache-2.0
"""Interconnects for collectives: an NPU's lanes for each dimension of its place, and the ways along each.

An interconnect is a list of resources, each so many lanes of an NPU each way, and for each dimension (x, y in
the rack; z, w racks of a Pod; pod; dcn) the ways a stage of a collective may be carried along it. A
collective over several dimensions goes through them one after the other; its data are split over orders of
the dimensions and over ways, so that the busiest resource is least busy: a small linear program (derived
here; the multi-ring split and the borrowing of idle links of UB-Mesh §5.1, in the limit of many rings).

On a line of k nodes in full mesh whose groups of g exchange data, all groups at once, a node has g - 1 direct
links and k - g idle ones. A detour takes two of the line's links, so it is worth (g - 1) + (k - g)/2 links. A
way round through other dimensions still needs a link of this one, and adds nothing when all lines are busy
alike.

Lanes are those that UB-Mesh gives or that follow from them: x4 a peer in the rack, x16 towards other racks,
of which x12 go to the racks of its row and column and x4 to the HRS; the rack's alternatives as in §6.2.
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

# Of a rack's x16 an NPU, what goes along its row, along its column and to the HRS (derived: 3 x 128 and 3 x
# 128 of 1,024 lanes, and the rest).
ROW, COLUMN, HRS = 6 / 16, 6 / 16, 4 / 16

# The paper gives no lanes for the network between SuperPods; assumed: a quarter of what leads to the HRS.
DCN_SHARE = 1 / 4

Rack = Literal["2d-fm", "1d-fm-a", "1d-fm-b", "clos"]
Racks = Literal["2d-fm", "clos"]
Paths = Literal["shortest", "detour", "borrow"]

# (dimension, size of the group along it), each dimension once, sizes above one.
Group = tuple[tuple[str, int], ...]


class Use(StrEnum):
    """Use of a resource: a line's direct links, direct links with one-hop detours, or a switch's port."""

    direct = "direct"
    detour = "detour"
    port = "port"


@final
@dataclass(frozen=True, slots=True)
class Leg:
    """Use of a resource by a way."""

    resource: str
    use: Use


Way = tuple[Leg, ...]


@final
@dataclass(frozen=True, eq=False)
class Interconnect:
    """`lanes` of an NPU by resource; `sizes` and `ways` by dimension."""

    name: str
    lanes: dict[str, float]
    ways: dict[str, tuple[Way, ...]]
    sizes: dict[str, int]
    _known: dict[tuple[Op, Group], float] = field(default_factory=dict, repr=False)

    @property
    def own_lanes(self) -> float:
        """Lanes of an NPU, to any destination."""
        return sum(lanes for name, lanes in self.lanes.items() if name in ("x", "y", "lrs", "up"))

    def share(self, op: Op, group: Group) -> float:
        """Time of a collective of one byte on lanes of one byte a second."""
        if op is Op.allreduce:
            return 2 * self._share(Op.allgather, group)
        return self._share(Op.allgather if op is Op.reducescatter else op, group)

    def _share(self, op: Op, group: Group) -> float:
        key = op, group
        if key not in self._known:
            self._known[key] = self._solved(op, group)
        return self._known[key]

    def _solved(self, op: Op, group: Group) -> float:
        if not group:
            return 0.0
        if op is Op.p2p:  # stages are in snake order: one to the next is a step along one dimension
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
                f"{self.name}: nothing leads along dimension {ex}",
                remedy="place the group on dimensions it has",
            ) from None

    def _loads(self, op: Op, order: Group, ways: Sequence[Way]) -> dict[str, float]:
        """Bytes on each resource's lanes, as if all lanes of a line could be used."""
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
        for resource, ranks in reach.items():  # a switch takes what differs in several dimensions at once
            loads[resource] = loads.get(resource, 0.0) + 1 - 1 / ranks
        return loads

    def _least(self, columns: Sequence[dict[str, float]]) -> float:
        """Least load of the busiest resource when data are split over ways."""
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
    """Share of a line's links that `group` of its `nodes` can use."""
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
    """Return the interconnect of a rack design and of the links between racks; `paths` applies to 2d-fm.

    `uplink` lanes of an NPU lead to other racks; with `trade` they are taken from those to its peers, so that
    an NPU keeps 72, else they come on top.
    """
    if uplink < 1 or uplink >= NPU_LANES:
        raise ModelError(f"an NPU cannot have {uplink} uplink lanes", remedy=f"use 1 to {NPU_LANES - 1}")
    peers = (NPU_LANES - uplink) / 2 if trade else 7.0 * PEER_LANES
    lanes: dict[str, float] = {}
    line = {}
    for dimension in ("x", "y"):
        line[dimension] = (Leg(dimension, Use.detour),)
    out = (Leg("up", Use.port), Leg("hrs", Use.port))
    match rack:
        case "2d-fm":
            lanes |= {"x": peers, "y": peers, "up": uplink, "hrs": uplink}
            round_about = ((Leg("up", Use.port),),) if through else ()
            inside = {"x": (line["x"], *round_about), "y": (line["y"], *round_about)}
        case "1d-fm-a":  # x16 to LRS for other boards, and as many to HRS
            lanes |= {"x": peers, "lrs": uplink, "up": uplink, "hrs": uplink}
            across = ((Leg("lrs", Use.port),), *(((Leg("up", Use.port),),) if through else ()))
            inside = {"x": (line["x"], *across), "y": across}
        case "1d-fm-b":  # x32 to HRS for other boards and other racks
            lanes |= {"x": peers, "up": 2 * uplink, "hrs": 2 * uplink}
            across = ((Leg("up", Use.port),),)
            inside = {"x": (line["x"], *across), "y": across}
        case "clos":  # all lanes to LRS, which join all NPUs of the rack and lead out of it
            lanes |= {"up": NPU_LANES, "hrs": uplink}
            inside = {name: ((Leg("up", Use.port),),) for name in ("x", "y")}
    outside: dict[str, tuple[Way, ...]] = {"z": (out,), "w": (out,)}
    if racks == "2d-fm":
        lanes |= {"z": ROW * lanes["hrs"], "w": COLUMN * lanes["hrs"], "hrs": HRS * lanes["hrs"]}
        use = Use.direct if paths == "shortest" else Use.detour
        for name in ("z", "w"):
            mesh_way = (Leg("up", Use.port), Leg(name, use))
            outside[name] = (mesh_way, out) if paths == "borrow" else (mesh_way,)
    lanes["dcn"] = DCN_SHARE * HRS * uplink
    ways = {**inside, **outside, "pod": (out,), "dcn": ((*out, Leg("dcn", Use.port)),)}
    name = f"{rack}, {racks} between racks"
    return Interconnect(name, lanes, ways, dict(DIMENSIONS))


def mesh(dims: Sequence[int], lanes: float | Sequence[float] = 1.0) -> Interconnect:
    """Return a full mesh of these sizes with links of `lanes`, of all dimensions or of each, as emulated."""
    names = [name for name, _ in DIMENSIONS[: len(dims)]]
    each = [lanes] * len(dims) if isinstance(lanes, int | float) else lanes
    return Interconnect(
        f"full mesh {'x'.join(map(str, dims))}",
        {name: (size - 1) * own for name, size, own in zip(names, dims, each, strict=True)},
        {name: ((Leg(name, Use.detour),),) for name in names},
        dict(zip(names, dims, strict=True)),
    )
