# SPDX-License-Identifier: Apache-2.0
"""Match fields and parameters as bytes of P4Runtime messages, in the wire format of protocol buffers.

Errors are InstallErrors that do not name the node; the client adds the name.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from finsy.proto import p4r

from controller.errors import InstallError
from controller.plan.entry import Exact, Lpm, Match, Optional, Range, Ternary

__all__ = ["ENCODERS", "REMEDY", "Field", "bytestring", "match_field", "parameter", "sized", "tag", "varint"]

REMEDY = "plan entries for the program whose p4info was pushed"

# Name of the match field of the destination address, and the width of addresses in plans in bits.
_ADDRESS_KEY, _ADDRESS_BITS = "dcna", 16


def varint(number: int) -> bytes:
    """Return a number as a protobuf varint: groups of seven bits, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_SIZES = [varint(size) for size in range(1 << 10)]


def sized(content: bytes) -> bytes:
    """Return a serialised string or message with its length in front."""
    length = len(content)
    return (_SIZES[length] if length < len(_SIZES) else varint(length)) + content


def tag(message: type, name: str) -> bytes:
    """Return the tag (number and wire type) of a field of a protobuf message."""
    descriptor = message.DESCRIPTOR.fields_by_name[name]  # type: ignore[attr-defined]
    is_number = descriptor.cpp_type not in (descriptor.CPPTYPE_STRING, descriptor.CPPTYPE_MESSAGE)
    return varint(descriptor.number << 3 | (0 if is_number else 2))


_MATCH, _PARAMS = tag(p4r.TableEntry, "match"), tag(p4r.Action, "params")
_FIELD_ID = tag(p4r.FieldMatch, "field_id")
_PREFIX_LENGTH = tag(p4r.FieldMatch.LPM, "prefix_len")
_PARAM_ID, _PARAM_VALUE = (tag(p4r.Action.Param, name) for name in ("param_id", "value"))


def bytestring(value: int, bits: int, what: str) -> bytes:
    """Return the canonical bytestring of a number; InstallError, naming `what`, if it exceeds `bits`."""
    if value < 0 or value >> bits:
        raise InstallError(f"{what} = {value:#x} does not fit in {bits} bits", remedy=REMEDY)
    return value.to_bytes((value.bit_length() + 7) >> 3 or 1)


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A match field or a parameter; `kind` is None for a parameter and for an unsupported kind of match.

    `heads[n]` has the bytes of the serialised field before a value of n bytes. `wider` is the number of bits
    by which the field exceeds an address of a plan, in programs with CNA24 headers. These bits are 0 in every
    address, and prefix lengths in plans do not count them.
    """

    id: int
    name: str
    bits: int
    kind: type[Match] | None
    heads: tuple[bytes, ...]
    wider: int = 0

    def encode(self, value: int) -> bytes:
        """Return the serialised field with a single value; InstallError if it exceeds `bits`."""
        if value < 0 or value >> self.bits:
            bytestring(value, self.bits, self.name)  # raises
        size = (value.bit_length() + 7) >> 3 or 1
        return self.heads[size] + value.to_bytes(size)


def parameter(id: int, name: str, bits: int) -> Field:
    """Return the encoder of a parameter of an action, an element of Action.params."""
    inside = _PARAM_ID + varint(id) + _PARAM_VALUE
    heads = (
        _PARAMS + varint(len(inside) + len(varint(size)) + size) + inside + varint(size)
        for size in _value_sizes(bits)
    )
    return Field(id, name, bits, None, tuple(heads))


def match_field(id: int, name: str, bits: int, kind: type[Match] | None) -> Field:
    """Return the encoder of a field of a table's key, an element of TableEntry.match."""
    heads: Iterable[bytes] = ()
    if kind is Exact or kind is Optional:
        chosen, message = ("exact", p4r.FieldMatch.Exact) if kind is Exact else _OPTIONAL
        value = tag(message, "value")
        heads = (
            _match_head(id, chosen, len(value) + len(varint(size)) + size) + value + varint(size)
            for size in _value_sizes(bits)
        )
    wider = max(0, bits - _ADDRESS_BITS) if name == _ADDRESS_KEY else 0
    return Field(id, name, bits, kind, tuple(heads), wider)


_OPTIONAL = ("optional", p4r.FieldMatch.Optional)


def _value_sizes(bits: int) -> range:
    return range((bits + 7) // 8 + 1)


def _match_head(id: int, chosen: str, size: int) -> bytes:
    inside = _FIELD_ID + varint(id) + tag(p4r.FieldMatch, chosen) + varint(size)
    return _MATCH + varint(len(inside) + size) + inside


def _encode_lpm(key: Field, match: Lpm) -> bytes:
    value = bytestring(match.value, key.bits, key.name)
    content = tag(p4r.FieldMatch.LPM, "value") + sized(value)
    prefix = match.prefix + key.wider
    if prefix:
        content += _PREFIX_LENGTH + varint(prefix & ((1 << 64) - 1))
    return _match_head(key.id, "lpm", len(content)) + content


def _pair(key: Field, chosen: str, message: type, **values: bytes) -> bytes:
    content = b"".join(tag(message, name) + sized(value) for name, value in values.items())
    return _match_head(key.id, chosen, len(content)) + content


def _encode_ternary(key: Field, match: Ternary) -> bytes:
    value = bytestring(match.value, key.bits, key.name)
    mask = bytestring(match.mask, key.bits, f"{key.name} mask")
    return _pair(key, "ternary", p4r.FieldMatch.Ternary, value=value, mask=mask)


def _encode_range(key: Field, match: Range) -> bytes:
    low, high = (bytestring(value, key.bits, key.name) for value in (match.low, match.high))
    return _pair(key, "range", p4r.FieldMatch.Range, low=low, high=high)


def _encode_optional(key: Field, match: Optional) -> bytes:
    return key.encode(match.value)


ENCODERS: dict[type, Callable[..., bytes]] = {
    Lpm: _encode_lpm,
    Ternary: _encode_ternary,
    Range: _encode_range,
    Optional: _encode_optional,
}
