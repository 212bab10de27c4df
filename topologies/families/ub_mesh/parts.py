# SPDX-License-Identifier: Apache-2.0
"""Parts of UB-Mesh fabrics: addresses, lanes and delays; NPUs and devices of racks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations
from math import prod
from typing import Annotated, final

from topologies.errors import TopologyError
from topologies.families.declaration import Spec
from topologies.model import AddressField, AddressPlan, NodeKind
from topologies.model.wiring import Wiring

__all__ = [
    "CPU_LANES",
    "DEVICE_LANES",
    "HRS_DELAY_NS",
    "HRS_LANES",
    "LANE_REMEDIES",
    "LRS_LANES",
    "MAX_PLANES",
    "PEER_LANES",
    "RACK_DELAY_NS",
    "UB_ADDRESS_PLAN",
    "Cpus",
    "Delay",
    "HrsDelay",
    "PeerLanes",
    "AddressClass",
    "Planes",
    "Rack",
    "RackDelay",
    "Shape",
    "Spares",
    "UplinkLanes",
    "device_lanes",
    "device_names",
    "hrs_address",
    "lrs_address",
    "mesh_boards",
    "mesh_slots",
    "plane_lanes",
    "put_devices",
    "put_npus",
    "share",
]

# Derived: an NPU has 72 lanes, 14 peers in the rack, and x16 for other racks (UB-Mesh), so x4 for each peer.
PEER_LANES = 4

# UB lanes of a CPU, an LRS and an HRS (UB-Mesh, building blocks).
CPU_LANES = 32
LRS_LANES = 72
HRS_LANES = 512

# Lanes of a plane to all spare NPUs of a rack; a plane has the same number of lanes to all CPUs. Derived: the
# lanes of an LRS of x72 that are left.
DEVICE_LANES = 8

# Ten metres of cable between racks, a hundred metres to HRS: the cable lengths of UB-Mesh.
RACK_DELAY_NS = 50
HRS_DELAY_NS = 500

# Fields of the physical location, most significant first (UB-Mesh); the widths are this project's.
UB_ADDRESS_PLAN = AddressPlan(
    (
        AddressField("class", 3),
        AddressField("pod", 3),
        AddressField("row", 2),
        AddressField("column", 2),
        AddressField("board", 3),
        AddressField("npu", 3),
    )
)

# Limit of the addresses: four planes of class LRS, four of class LRS_MORE.
MAX_PLANES = 8

# Devices of a kind that the address field npu can number.
MAX_DEVICES = 8

Planes = Annotated[int, Spec("planes of switches of a rack", at_least=1, at_most=MAX_PLANES)]
Spares = Annotated[int, Spec("spare NPUs of a rack", at_least=0, at_most=MAX_DEVICES)]
Cpus = Annotated[int, Spec("CPUs of a rack", at_least=0, at_most=MAX_DEVICES)]
PeerLanes = Annotated[int, Spec("lanes from an NPU to each of its peers", at_least=1)]
UplinkLanes = Annotated[int, Spec("lanes from an NPU to the switches of its rack", at_least=1)]
Delay = Annotated[float, Spec("propagation delay of a link in a rack", at_least=0)]
RackDelay = Annotated[float, Spec("propagation delay of a link between racks", at_least=0)]
HrsDelay = Annotated[float, Spec("propagation delay of a link to an HRS", at_least=0)]


class AddressClass(IntEnum):
    """Values of the address field `class`; 7 is reserved for groups."""

    NPU = 0
    SPARE = 1
    CPU = 2
    LRS = 3
    HRS = 4
    LRS_OF_DEVICES = 5
    LRS_MORE = 6


LANE_REMEDIES = {
    NodeKind.NPU: "use fewer `lanes` or `uplink_lanes`, or an NPU of more `host_lanes`",
    NodeKind.SPARE: "use fewer planes or spares",
    NodeKind.CPU: "use fewer planes",
    NodeKind.LRS: "use more planes or fewer `uplink_lanes`",
    NodeKind.HRS: "use more HRS or fewer `uplink_lanes`",
}


@final
@dataclass(frozen=True, slots=True)
class Rack:
    """A rack: its number, counted Pod by Pod and row by row, its Pod, row and column."""

    number: int
    pod: int = 0
    row: int = 0
    column: int = 0

    def address(self, of: AddressClass, *, y: int, x: int) -> int:
        """Return the address of a node: class `of`, field board `y`, field npu `x`."""
        fields = {"class": of, "pod": self.pod, "row": self.row, "column": self.column}
        return UB_ADDRESS_PLAN.pack(**fields, board=y, npu=x)


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """Extents of a fabric: NPUs of a board, boards of a rack, columns and rows of racks, Pods."""

    slots: int
    boards: int
    columns: int = 1
    rows: int = 1
    pods: int = 1

    @staticmethod
    def of(dims: Sequence[int], wanted: int) -> "Shape":
        """Return the shape with extents `dims`; TopologyError unless `dims` has `wanted` items in range."""
        names = ("slots", "boards", "columns", "rows", "pods")[:wanted]
        sizes = tuple(dims)
        fields = [part.name for part in reversed(UB_ADDRESS_PLAN.fields)]
        most = [UB_ADDRESS_PLAN.mask(field) + 1 for field in fields]
        listed = ", ".join(f"{name} to {top}" for name, top in zip(names, most, strict=False))
        remedy = f"give {wanted} extents from 1: {listed}"
        if len(sizes) != wanted or any(not 1 <= n <= top for n, top in zip(sizes, most, strict=False)):
            raise TopologyError(f"dims {list(sizes)} do not make a UB-Mesh", remedy=remedy)
        if prod(sizes) < 2:
            raise TopologyError(f"dims {list(sizes)} have a single NPU", remedy="give at least two of them")
        return Shape(*sizes)

    def racks(self) -> Iterator[Rack]:
        """Yield all racks in the order of their numbers."""
        number = 0
        for pod in range(self.pods):
            for row in range(self.rows):
                for column in range(self.columns):
                    yield Rack(number, pod, row, column)
                    number += 1

    def npu(self, rack: Rack, board: int, slot: int) -> str:
        """Return the name of the NPU with index `slot` on a board."""
        return f"npu{(rack.number * self.boards + board) * self.slots + slot}"


def device_lanes(count: int, planes: int, what: str) -> int:
    """Return the lanes from each of `count` devices to each plane.

    The devices together have up to x8 to each plane, and up to x32 to all planes. TopologyError when a device
    would have no lane; the message names the parameter `what`.
    """
    together = min(DEVICE_LANES, CPU_LANES // planes)
    lanes = together // count if count else 0
    if count and not lanes:
        raise TopologyError(
            f"{what} is {count}, but a plane has only {together} lanes for these devices",
            remedy=f"use at most {together}, or fewer planes",
        )
    return lanes


def plane_lanes(planes: int, lanes: int, what: str = "uplink_lanes") -> int:
    """Return the lanes from an NPU to each plane; links inside a plane have as many lanes.

    TopologyError when the planes cannot share `lanes` equally; the message names the parameter `what`.
    """
    return share(what, lanes, "planes", planes)


def lrs_address(rack: Rack, plane: int, number: int, *, inter_rack: bool = False) -> int:
    """Return the address of an LRS of a plane: an LRS for NPUs, or for other racks (`inter_rack`)."""
    of = AddressClass.LRS if plane < MAX_PLANES // 2 else AddressClass.LRS_MORE
    return rack.address(of, y=plane % (MAX_PLANES // 2) * 2 + inter_rack, x=number)


def share(what: str, lanes: int, among: str, count: int) -> int:
    """Return `lanes` divided by `count`; TopologyError unless the division is exact and gives at least 1.

    The message names the lanes (`what`) and their receivers (`among`). A count of 0 gives 0.
    """
    if count and (lanes < count or lanes % count):
        raise TopologyError(
            f"{what} {lanes} cannot be dealt equally to {count} {among}",
            remedy=f"use a multiple of {count}, or other {among}",
        )
    return lanes // count if count else 0


def hrs_address(number: int) -> int:
    """Return the address of an HRS; its number fills the fields npu, board, column and row."""
    low, wide = number & 63, number >> 6
    fields = {
        "class": AddressClass.HRS,
        "row": wide >> 2,
        "column": wide & 3,
        "board": low >> 3,
        "npu": low & 7,
    }
    return UB_ADDRESS_PLAN.pack(**fields)


def put_npus(wiring: Wiring, shape: Shape) -> None:
    """Add all NPUs of all racks, without links."""
    for rack in shape.racks():
        for board in range(shape.boards):
            for slot in range(shape.slots):
                address = rack.address(AddressClass.NPU, y=board, x=slot)
                wiring.node(shape.npu(rack, board, slot), NodeKind.NPU, "ub_npu", address)


def put_devices(wiring: Wiring, shape: Shape, *, spares: int, cpus: int) -> None:
    """Add the spare NPUs, then the CPUs, of all racks."""
    for rack in shape.racks():
        for i, name in enumerate(device_names("spare", rack, spares)):
            wiring.node(name, NodeKind.SPARE, "ub_npu", rack.address(AddressClass.SPARE, y=0, x=i))
    for rack in shape.racks():
        for i, name in enumerate(device_names("cpu", rack, cpus)):
            wiring.node(
                name, NodeKind.CPU, "ub_npu", rack.address(AddressClass.CPU, y=0, x=i), lanes=CPU_LANES
            )


def device_names(kind: str, rack: Rack, count: int) -> tuple[str, ...]:
    """Return the names of a rack's devices; a single device of a kind is named by the rack alone."""
    if count == 1:
        return (f"{kind}{rack.number}",)
    return tuple(f"{kind}{rack.number}.{i}" for i in range(count))


def mesh_boards(wiring: Wiring, shape: Shape, rack: Rack, *, lanes: int, delay_ps: int) -> None:
    """Link every two NPUs of a board (dimension X)."""
    for board in range(shape.boards):
        for low, high in combinations(range(shape.slots), 2):
            ends = shape.npu(rack, board, low), shape.npu(rack, board, high)
            wiring.link(*ends, lanes=lanes, delay_ps=delay_ps, labels=(f"x{high}", f"x{low}"), dimension=0)


def mesh_slots(wiring: Wiring, shape: Shape, rack: Rack, *, lanes: int, delay_ps: int) -> None:
    """Link every two NPUs with equal slots (indices on their boards) on different boards (dimension Y)."""
    for low, high in combinations(range(shape.boards), 2):
        for slot in range(shape.slots):
            ends = shape.npu(rack, low, slot), shape.npu(rack, high, slot)
            wiring.link(*ends, lanes=lanes, delay_ps=delay_ps, labels=(f"y{high}", f"y{low}"), dimension=1)
