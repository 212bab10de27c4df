# SPDX-License-Identifier: Apache-2.0
"""Fabrics to JSON and from JSON; `from_json` validates the document and checks the fabric."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from topologies.errors import TopologyError
from topologies.model.address import AddressField, AddressPlan
from topologies.model.checks import check
from topologies.model.fabric import End, Fabric, Link, Node, NodeKind, OpticalSwitch, Port

__all__ = ["FORMAT", "from_json", "to_json"]

FORMAT = "railyard-fabric/1"

_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Strict(BaseModel):
    """Base of the documents: refuses unknown keys, and text, fractions or booleans instead of integers."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, strict=True)


class _Port(_Strict):
    number: int = Field(ge=0, le=255)
    name: str
    lanes: int
    dimension: int | None
    edge: bool = Field(default=False, exclude_if=lambda edge: not edge)


class _Node(_Strict):
    name: str = Field(min_length=1)
    index: int = Field(ge=0)
    kind: NodeKind
    program: str
    address: int
    coordinates: tuple[int, ...]
    ports: tuple[_Port, ...]
    # Left out at their defaults: documents of fabrics without switches have neither `tier` nor `lanes`.
    tier: int = Field(default=0, ge=0, exclude_if=lambda tier: tier == 0)
    lanes: int | None = Field(default=None, ge=1, exclude_if=lambda lanes: lanes is None)
    position: tuple[_Finite, _Finite] | None = Field(
        default=None, exclude_if=lambda position: position is None
    )
    group: str = Field(default="", exclude_if=lambda group: not group)


class _End(_Strict):
    node: str
    port: int


class _Link(_Strict):
    name: str = Field(min_length=1)
    a: _End
    b: _End
    lanes: int
    rate_bps: int
    delay_ps: int
    dimension: int | None


class _OpticalSwitch(_Strict):
    name: str = Field(min_length=1)
    ends: tuple[_End, ...]
    lanes: int
    rate_bps: int
    delay_ps: int
    reconfiguration_ps: int


class _AddressField(_Strict):
    name: str = Field(min_length=1)
    bits: int = Field(ge=0, le=16)


class _AddressPlan(_Strict):
    fields: tuple[_AddressField, ...]


class _Fabric(_Strict):
    format: Literal["railyard-fabric/1"] = FORMAT
    name: str = Field(min_length=1)
    dims: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    lane_rate_bps: int
    host_lanes: int
    host_delay_ps: int
    address_plan: _AddressPlan
    nodes: tuple[_Node, ...]
    links: tuple[_Link, ...]
    optical: tuple[_OpticalSwitch, ...] = ()
    graph_routed: bool = Field(default=False, exclude_if=lambda graph_routed: not graph_routed)


def to_json(fabric: Fabric) -> str:
    """Return a fabric as JSON; `from_json` turns the text back into an equal fabric."""
    # A fabric without optical switches has no key `optical`.
    absent = None if fabric.optical else {"optical"}
    return _Fabric.model_validate(fabric).model_dump_json(indent=1, exclude=absent) + "\n"


def from_json(text: str) -> Fabric:
    """Return the checked fabric of a document.

    TopologyError lists every invalid field, or else every problem of the fabric.
    """
    try:
        read = _Fabric.model_validate_json(text)
    except ValidationError as error:
        listed = "".join(
            f"\n  - {'.'.join(str(part) for part in problem['loc']) or 'document'}: {problem['msg']}"
            for problem in error.errors(include_url=False)
        )
        raise TopologyError(f"not a fabric document of format {FORMAT}; to correct:{listed}") from None
    fabric = Fabric(
        name=read.name,
        dims=read.dims,
        nodes=tuple(_node(node) for node in read.nodes),
        links=tuple(_link(link) for link in read.links),
        address_plan=AddressPlan(
            tuple(AddressField(part.name, part.bits) for part in read.address_plan.fields)
        ),
        lane_rate_bps=read.lane_rate_bps,
        host_lanes=read.host_lanes,
        host_delay_ps=read.host_delay_ps,
        groups=read.groups,
        optical=tuple(_optical(switch) for switch in read.optical),
        graph_routed=read.graph_routed,
    )
    check(fabric)
    return fabric


def _node(read: _Node) -> Node:
    ports = tuple(Port(port.number, port.name, port.lanes, port.dimension, port.edge) for port in read.ports)
    return Node(
        name=read.name,
        index=read.index,
        kind=read.kind,
        program=read.program,
        address=read.address,
        coordinates=read.coordinates,
        ports=ports,
        tier=read.tier,
        lanes=read.lanes,
        position=read.position,
        group=read.group,
    )


def _link(read: _Link) -> Link:
    return Link(
        name=read.name,
        a=End(read.a.node, read.a.port),
        b=End(read.b.node, read.b.port),
        lanes=read.lanes,
        rate_bps=read.rate_bps,
        delay_ps=read.delay_ps,
        dimension=read.dimension,
    )


def _optical(read: _OpticalSwitch) -> OpticalSwitch:
    return OpticalSwitch(
        name=read.name,
        ends=tuple(End(end.node, end.port) for end in read.ends),
        lanes=read.lanes,
        rate_bps=read.rate_bps,
        delay_ps=read.delay_ps,
        reconfiguration_ps=read.reconfiguration_ps,
    )
