# SPDX-License-Identifier: Apache-2.0
"""A Wireshark dissector of link frames, in Lua, generated from the Scapy layers in layers.py.

Tables with the positions of fields, the names of values and the order of headers are read from the layers.
dissector.lua, appended to these tables, interprets the values.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from scapy.fields import (
    AnyField,
    BitField,
    FieldListField,
    FlagsField,
    XBitField,
    XIntField,
    XLongField,
    XShortField,
)
from scapy.packet import NoPayload, Packet, Raw

from controller.deadlock.turn_rules import CLASS_VLS
from controller.paths.source_route import MAX_HOPS, MAX_INSTRUCTIONS
from emulation.errors import FrameError
from emulation.traffic.frames.layers import LPH
from emulation.traffic.frames.values import (
    BLOCK_FLITS,
    CC_TRIMMED,
    ETHERTYPE,
    FLIT_BYTES,
    VL_RESPONSE,
    NextHeader,
    Opcode,
    ReliableOpcode,
)

__all__ = ["Field", "Header", "dissector", "headers"]

_RUNTIME: Final = Path(__file__).with_suffix(".lua")
_HEXADECIMAL: Final = (XBitField, XShortField, XIntField, XLongField)
_MASKED_BYTES: Final = (1, 2, 3, 4)


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A field of a header: `count` consecutive numbers of `width` bits each, from bit `at` on."""

    name: str
    at: int
    width: int
    count: int = 1
    hexadecimal: bool = False
    values: Mapping[int, str] | None = None
    flags: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Header:
    """Fields of a layer, and its next layers: (field values that select a next layer, name of that layer)."""

    name: str
    title: str
    bytes: int
    fields: tuple[Field, ...]
    following: tuple[tuple[Mapping[str, int], str], ...]


def headers() -> tuple[Header, ...]:
    """Return every header of a UB link, LPH first; FrameError for a layout that Lua cannot express."""
    described: dict[type[Packet], Header] = {}
    waiting: list[type[Packet]] = [LPH]
    while waiting:
        layer = waiting.pop(0)
        if layer not in described:
            described[layer] = _header(layer)
            waiting += [upper for _, upper in _bindings(layer)]
    return tuple(described.values())


def dissector(nodes: Mapping[int, str] | None = None) -> str:
    """Return the Lua source of the dissector; `nodes` has the node name to show for each CNA."""
    constants = {
        "ETHERTYPE": ETHERTYPE,
        "FLIT_BYTES": FLIT_BYTES,
        "BLOCK_FLITS": BLOCK_FLITS,
        "MAX_HOPS": MAX_HOPS,
        "MAX_INSTRUCTIONS": MAX_INSTRUCTIONS,
        "ACK": Opcode.ACK.value,
        "TRIMMED": CC_TRIMMED,
        "CREDIT": Opcode.CREDIT.value,
        "IPV4": Opcode.IPV4.value,
        "SELECTIVE_ACK": ReliableOpcode.SELECTIVE_ACK.value,
        "NEXT_CREDIT": NextHeader.CREDIT.value,
        "NEXT_IPV4": NextHeader.IPV4.value,
        "VL_RESPONSE": VL_RESPONSE,
        "CLASS_VLS": CLASS_VLS,
    }
    names = dict(sorted((nodes or {}).items()))
    lines = [
        "-- SPDX-License-Identifier: Apache-2.0",
        "-- Written by `railyard dissector`, for Wireshark: what a link carries. Changes here are lost.",
        *(f"local {name} = {_lua(value)}" for name, value in constants.items()),
        "local HEADERS = {",
        *(line for header in headers() for line in _declaration(header)),
        "}",
        f"local NODES = {_lua(names)}",
        "",
    ]
    return "\n".join(lines) + _RUNTIME.read_text(encoding="utf-8").partition("\n")[2]


def _header(layer: type[Packet]) -> Header:
    fields: list[Field] = []
    at = 0
    for description in layer.fields_desc:
        field = _field(layer, description, at)
        fields.append(field)
        at += field.width * field.count
    if at % 8:
        raise FrameError(
            f"layer {layer.__name__} has {at} bits, which are not whole bytes", remedy="add the reserved bits"
        )
    following = tuple(({**when}, upper.__name__) for when, upper in _bindings(layer))
    return Header(layer.__name__, _title(layer), at // 8, tuple(fields), following)


def _field(layer: type[Packet], field: AnyField, at: int) -> Field:
    count = 1
    element: Any = field
    if isinstance(field, FieldListField):
        count = field.count_from(layer()) if field.count_from is not None else 1
        element = field.field
    width = element.size if isinstance(element, BitField) else int(element.sz * 8)
    first, last = at // 8, (at + width - 1) // 8
    if (last - first + 1 not in _MASKED_BYTES) and not (width == 64 and at % 8 == 0):
        raise FrameError(
            f"layer {layer.__name__}, field {field.name}: Lua cannot read {width} bits from bit {at} as a "
            "number; expected bits within 4 bytes, or 8 whole bytes",
            remedy="split the field",
        )
    values: Mapping[int, str] | None = None
    flags: tuple[str, ...] = ()
    if isinstance(field, FlagsField):
        flags = tuple(field.names)
    elif isinstance(getattr(field, "i2s", None), dict):
        values = {int(number): str(name) for number, name in field.i2s.items()}  # type: ignore[attr-defined]
    return Field(field.name, at, width, count, isinstance(element, _HEXADECIMAL), values, flags)


def _bindings(layer: type[Packet]) -> Iterator[tuple[Mapping[str, int], type[Packet]]]:
    for when, upper in layer.payload_guess:
        if upper not in (Raw, NoPayload):
            yield {name: int(value) for name, value in when.items()}, upper


def _title(layer: type[Packet]) -> str:
    """Return a layer's name and its docstring's first line up to a comma."""
    words = (layer.__doc__ or "").partition("\n")[0]
    return f"{layer.__name__}: {words.partition(',')[0].rstrip('.')}"


def _declaration(header: Header) -> Iterator[str]:
    yield f"  {{name = {_lua(header.name)}, title = {_lua(header.title)}, bytes = {header.bytes}, fields = {{"
    for field in header.fields:
        yield f"    {_lua(_field_declaration(field))},"
    following = [{"when": when, "header": name} for when, name in header.following]
    yield f"  }}, following = {_lua(following)}}},"


def _field_declaration(field: Field) -> Mapping[str, object]:
    first = field.at // 8
    length = (field.at + field.width - 1) // 8 - first + 1
    whole = field.width == length * 8
    mask = 0 if whole else ((1 << field.width) - 1) << (length * 8 - field.at % 8 - field.width)
    declared: dict[str, object] = {
        "name": field.name,
        "at": field.at,
        "width": field.width,
        "first": first,
        "length": length,
    }
    if mask:
        declared["mask"] = mask
    if field.count > 1:
        declared["count"] = field.count
    if field.hexadecimal:
        declared["hex"] = True
    if field.values:
        declared["values"] = field.values
    if field.flags:
        declared["flags"] = field.flags
    if "cna" in field.name or field.name == "origin":
        declared["address"] = True
    return declared


def _lua(value: object) -> str:
    """Return a Python value as a Lua expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, Mapping):
        pairs = (
            f"{key} = {_lua(item)}" if isinstance(key, str) else f"[{key}] = {_lua(item)}"
            for key, item in value.items()
        )
        return _braced(pairs)
    if isinstance(value, list | tuple):
        return _braced(_lua(item) for item in value)
    raise TypeError(f"cannot write {value!r} in Lua; expected a bool, int, string, mapping, list or tuple")


def _braced(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"
