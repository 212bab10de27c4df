# SPDX-License-Identifier: Apache-2.0
"""Split a frame into headers with their bytes and fields; list the fields in which two frames differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import final

from scapy.packet import Packet

from emulation.traffic.frames.dissector import headers
from emulation.traffic.frames.layers import SRH, Ether
from emulation.traffic.frames.values import decode_length
from topologies import Fabric

__all__ = ["PAYLOAD", "Change", "Field", "Part", "bits", "changes", "parts"]

PAYLOAD = "payload"
"""Name of the part of a frame behind its last header."""

_ADDRESSES = ("scna", "dcna", "cna_a", "cna_b", "origin")


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A field of a header: its name, and its value as text."""

    name: str
    text: str


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A header or the payload of a frame: bytes from `start` up to, but not including, `stop`."""

    name: str
    title: str
    start: int
    stop: int
    fields: tuple[Field, ...]


@final
@dataclass(frozen=True, slots=True)
class Change:
    """A field that differs between two frames; `before` or `after` is None if a frame lacks the header."""

    header: str
    field: str
    before: str | None
    after: str | None


@cache
def _titles() -> dict[str, str]:
    return {header.name: header.title.partition(": ")[2] for header in headers()}


def parts(fabric: Fabric, frame: bytes) -> tuple[Part, ...]:
    """Return the headers of a frame and then its payload; bytes that no known header covers are payload."""
    return tuple(_parts(fabric, frame))


def _parts(fabric: Fabric, frame: bytes) -> Iterator[Part]:
    at = 0
    layer: Packet | None = Ether(frame)
    while layer is not None and layer.name != "NoPayload":
        kind = type(layer).__name__
        own = layer.raw_packet_cache if kind not in ("Raw", "Padding") else None
        if own is None:
            break
        title = _titles().get(kind, "Carrier: takes the packet across a Linux interface")
        yield Part(kind, title, at, at + len(own), tuple(_fields(fabric, layer)))
        at += len(own)
        layer = layer.payload
    if at < len(frame):
        yield Part(PAYLOAD, "", at, len(frame), ())


def _fields(fabric: Fabric, layer: Packet) -> Iterator[Field]:
    for description in layer.fields_desc:
        name = description.name
        value = layer.getfieldval(name)
        if name == "length" and type(layer).__name__ == "LPH":
            size = decode_length(value)
            shown = f"{value} ({f'{size} bytes' if size else 'wrong'})"
        elif isinstance(layer, SRH) and name == "bitmap":
            shown = bits(value)
        elif isinstance(layer, SRH) and name == "instr":
            shown = " ".join(map(str, value))
        elif name in _ADDRESSES:
            node = fabric.node_of(value)
            shown = f"{value:#06x}" + (f" ({node.name})" if node else "")
        else:
            shown = str(description.i2repr(layer, value)).strip("'") or "none"
        yield Field(name, shown)


def bits(bitmap: int) -> str:
    """Return the 12 bits of a source-route bitmap in groups of four; the bit of hop 0 is leftmost."""
    digits = f"{bitmap:012b}"
    return f"{digits[:4]} {digits[4:8]} {digits[8:]}"


def changes(fabric: Fabric, before: bytes, after: bytes) -> tuple[Change, ...]:
    """Return the differing fields of two frames, in header order.

    If a header is new or removed, all its fields count as different.
    """
    old, new = _values(fabric, before), _values(fabric, after)
    names = [*new, *(name for name in old if name not in new)]
    changed = [
        Change(header, field, old.get((header, field)), new.get((header, field)))
        for header, field in names
        if old.get((header, field)) != new.get((header, field))
    ]
    stacks = sorted((parts(fabric, before), parts(fabric, after)), key=len, reverse=True)
    order = [part.name for stack in stacks for part in stack]
    by_header = {name: list(own) for name, own in groupby(changed, lambda change: change.header)}
    return tuple(change for name in dict.fromkeys(order) for change in by_header.get(name, ()))


def _values(fabric: Fabric, frame: bytes) -> dict[tuple[str, str], str]:
    values = {(part.name, field.name): field.text for part in _parts(fabric, frame) for field in part.fields}
    last = list(_parts(fabric, frame))[-1:]
    if last and last[0].name == PAYLOAD:
        values[PAYLOAD, "bytes"] = frame[last[0].start :].hex(" ")
    return values
