# SPDX-License-Identifier: Apache-2.0
"""n-dimensional full mesh: nodes that differ in a single coordinate are neighbours (UB-Mesh, nD-FullMesh)."""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, bps, family, ns
from topologies.model import HOST_PORT, AddressPlan, End, Fabric, Link, Node, NodeKind, Port
from topologies.model.address import CNA_BITS, padded_plan
from topologies.model.port_numbers import MAX_PORT

__all__ = [
    "LANE_RATE_GBPS",
    "LINK_DELAY_NS",
    "NPU_LANES",
    "UB_MESH",
    "HostLanes",
    "LaneRate",
    "LinkDelay",
    "LinkLanes",
    "full_mesh",
    "mesh_of",
]

UB_MESH = "UB-Mesh (arXiv 2503.20377)"

# UB-Mesh gives no lane rate. 100 Gbit/s makes an x4 link 400 Gbit/s, the rate that public simulators use.
LANE_RATE_GBPS = 100

# One metre of cable.
LINK_DELAY_NS = 5

# UB lanes of an NPU (UB-Mesh, nD-FullMesh).
NPU_LANES = 72

CLASS_BITS = 3
AXES = "xyzw"

LaneRate = Annotated[float, Spec("rate of a lane, each way", above=0)]
LinkLanes = Annotated[int, Spec("lanes of a link", at_least=1)]
LinkDelay = Annotated[float, Spec("propagation delay of a link", at_least=0)]
HostLanes = Annotated[int, Spec("lanes of an NPU; its links may use no more", at_least=1)]


@family("NPUs in an n-dimensional full mesh", source=Source(UB_MESH, "nD-FullMesh"))
def full_mesh(
    dims: Annotated[Sequence[int], Spec("nodes in each dimension; the first is counted fastest", at_least=2)],
    *,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: LinkLanes = 4,
    delay_ns: LinkDelay = LINK_DELAY_NS,
    host_lanes: HostLanes = NPU_LANES,
) -> Fabric:
    """Build NPUs in a full mesh of `dims` nodes in each dimension; the first dimension is counted fastest.

    Fields of an address: class, then a field for each dimension, the last dimension first.
    """
    sizes = _checked(dims)
    bits = {f"d{axis}": (size - 1).bit_length() for axis, size in reversed([*enumerate(sizes)])}
    needed = CLASS_BITS + sum(bits.values())
    if needed > CNA_BITS:
        raise TopologyError(
            f"dims {list(sizes)} need addresses of {needed} bits; an address has {CNA_BITS}",
            remedy="use smaller dims",
        )
    plan = padded_plan(CLASS_BITS, bits)

    def address(coordinates: Sequence[int]) -> int:
        return plan.pack(**{f"d{axis}": value for axis, value in enumerate(coordinates)})

    return mesh_of(
        "full-mesh-" + "x".join(str(size) for size in sizes),
        sizes,
        address_plan=plan,
        address=address,
        lane_rate_bps=bps(lane_rate_gbps),
        lanes=lanes,
        delay_ps=ns(delay_ns),
        host_lanes=host_lanes,
    )


def mesh_of(
    name: str,
    dims: tuple[int, ...],
    *,
    address_plan: AddressPlan,
    address: Callable[[Sequence[int]], int],
    lane_rate_bps: int,
    lanes: int,
    delay_ps: int,
    host_lanes: int,
) -> Fabric:
    """Build a full mesh; the function `address` gives the address of a node from its coordinates."""
    all_coordinates = [
        tuple(reversed(coordinates)) for coordinates in product(*(range(size) for size in reversed(dims)))
    ]
    index_of = {coordinates: index for index, coordinates in enumerate(all_coordinates)}
    nodes: list[Node] = []
    links: list[Link] = []
    port_of: dict[tuple[int, int], int] = {}
    for index, coordinates in enumerate(all_coordinates):
        ports = [Port(HOST_PORT, "host", host_lanes, None)]
        for axis, size in enumerate(dims):
            for value in range(size):
                if value == coordinates[axis]:
                    continue
                other = index_of[(*coordinates[:axis], value, *coordinates[axis + 1 :])]
                number = len(ports)
                label = AXES[axis] if axis < len(AXES) else f"d{axis}_"
                ports.append(Port(number, f"{label}{value}", lanes, axis))
                port_of[index, other] = number
        nodes.append(
            Node(
                f"npu{index}", index, NodeKind.NPU, "ub_npu", address(coordinates), coordinates, tuple(ports)
            )
        )
    for (low, high), port in port_of.items():
        if low < high:
            links.append(
                Link(
                    name=f"npu{low}-npu{high}",
                    a=End(f"npu{low}", port),
                    b=End(f"npu{high}", port_of[high, low]),
                    lanes=lanes,
                    rate_bps=lanes * lane_rate_bps,
                    delay_ps=delay_ps,
                    dimension=nodes[low].ports[port].dimension or 0,
                )
            )
    return Fabric(
        name=name,
        dims=dims,
        nodes=tuple(nodes),
        links=tuple(links),
        address_plan=address_plan,
        lane_rate_bps=lane_rate_bps,
        host_lanes=host_lanes,
        host_delay_ps=delay_ps,
        groups=_pairs(len(dims)),
    )


def _pairs(dimensions: int) -> tuple[tuple[int, ...], ...]:
    """Return dimensions in pairs, the last pair first: the order in which tables resolve an address."""
    pairs = [tuple(range(low, min(low + 2, dimensions))) for low in range(0, dimensions, 2)]
    return tuple(reversed(pairs))


def _checked(dims: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(dims)
    ports = sum(size - 1 for size in sizes)
    if ports > MAX_PORT:
        raise TopologyError(
            f"dims {list(sizes)} need {ports} ports a node, but a source route can address only {MAX_PORT}",
            remedy="use smaller dims or more of them",
        )
    if prod(sizes) > 1 << (CNA_BITS - CLASS_BITS):
        raise TopologyError(
            f"dims {list(sizes)} have {prod(sizes)} nodes, but there are only {1 << (CNA_BITS - CLASS_BITS)} "
            "addresses",
            remedy="use smaller dims",
        )
    return sizes
