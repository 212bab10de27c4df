# SPDX-License-Identifier: Apache-2.0
"""Match fields: conversion between P4Runtime's FieldMatch and the engine's key.

The engine's key has a (value, extra, prefix) for each field, in the program's order. `extra` is the mask of a
ternary field or the high end of a range; `prefix` is the prefix length of an LPM field, and 1 for an optional
field that must match.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from finsy.proto import p4r, rpc_code

from emulation.p4runtime.pipeline.strings import Strings
from emulation.p4runtime.pipeline.values import canonical, fitting, unsigned
from emulation.p4runtime.status import Refusal

__all__ = ["Key", "KeyLayout"]

Key = tuple[bytes, bytes, int]

_INVALID = rpc_code.INVALID_ARGUMENT
_ZERO = b"\x00"


@final
@dataclass(frozen=True, slots=True)
class KeyLayout:
    """A match field of a table or value set.

    Attributes:
        id: Id of the field in the p4info.
        name: Name of the field.
        match: Kind of match, such as "exact" or "ternary".
        bits: Width of the field.
        position: Index of the field in the key.
        of: Table or value set, as messages name it.
        masked: The field is optional in the p4info, and ternary in the compiled program.
        strings: Translation of a field that controllers see as strings; None for other fields.
    """

    id: int
    name: str
    match: str
    bits: int
    position: int
    of: str
    masked: bool = False
    strings: Strings | None = None

    @property
    def what(self) -> str:
        """Name of the field for messages."""
        return f"{self.of}, field {self.name!r}"

    @property
    def wildcard(self) -> Key | None:
        """Key matching everything; None for an exact field."""
        if self.match == "exact":
            return None
        if self.match == "range":
            return (_ZERO, self.ones, 0)
        if self.match == "ternary" or self.masked:
            return (_ZERO, _ZERO, 0)
        return (_ZERO, b"", 0)

    @property
    def ones(self) -> bytes:
        """Largest number of the field."""
        return ((1 << self.bits) - 1).to_bytes((self.bits + 7) // 8)

    def decode(self, sent: p4r.FieldMatch) -> Key:
        """Return the engine's form of a match field; a Refusal if it is malformed."""
        kind = sent.WhichOneof("field_match_type")
        if kind is None or kind != self.match:
            raise Refusal(_INVALID, f"{self.what} must be {self.match}, but is {kind or 'unset'}")
        return _DECODERS[kind](self, sent)

    def encode(self, entry: p4r.TableEntry | p4r.ValueSetMember, key: Key) -> None:
        """Add the field to a match; a wildcard is left out."""
        value, extra, prefix = key
        match self.match:
            case "exact":
                entry.match.add(field_id=self.id).exact.value = self._sent(value)
            case "lpm" if prefix:
                lpm = entry.match.add(field_id=self.id).lpm
                lpm.value, lpm.prefix_len = canonical(value), prefix
            case "ternary" if any(extra):
                ternary = entry.match.add(field_id=self.id).ternary
                ternary.value, ternary.mask = canonical(value), canonical(extra)
            case "range" if any(value) or int.from_bytes(extra) + 1 < 1 << self.bits:
                bounds = entry.match.add(field_id=self.id).range
                bounds.low, bounds.high = canonical(value), canonical(extra)
            case "optional" if prefix or (self.masked and any(extra)):
                entry.match.add(field_id=self.id).optional.value = self._sent(value)
            case _:
                pass

    def number(self, value: bytes, part: str = "value") -> bytes:
        """Return the program's number of a sent value, in the field's width; a Refusal if it does not fit."""
        if self.strings is not None:
            return self.strings.number(value, f"{self.what}, {part}")
        fits = fitting(value, self.bits)
        return unsigned(value, self.bits, f"{self.what}, {part}") if fits is None else fits

    def _sent(self, value: bytes) -> bytes:
        """Return a value as controllers see it."""
        return canonical(value) if self.strings is None else self.strings.text(value)


def _exact(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    return (key.number(sent.exact.value), b"", 0)


def _lpm(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    value, prefix = key.number(sent.lpm.value), sent.lpm.prefix_len
    if prefix == 0:
        raise Refusal(
            _INVALID, f"{key.what}: the prefix length is 0; leave the field out to match everything"
        )
    if not 0 < prefix <= key.bits:
        raise Refusal(_INVALID, f"{key.what}: prefix length {prefix} is not within 1..{key.bits}")
    if int.from_bytes(value) & ((1 << (key.bits - prefix)) - 1):
        raise Refusal(_INVALID, f"{key.what}: 0x{value.hex()} has bits beyond its prefix of {prefix}")
    return (value, b"", prefix)


def _ternary(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    value, mask = key.number(sent.ternary.value), key.number(sent.ternary.mask, "mask")
    if not any(mask):
        raise Refusal(_INVALID, f"{key.what}: the mask is 0; leave the field out to match everything")
    if int.from_bytes(value) & ~int.from_bytes(mask):
        raise Refusal(_INVALID, f"{key.what}: 0x{value.hex()} has bits outside its mask 0x{mask.hex()}")
    return (value, mask, 0)


def _range(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    low, high = key.number(sent.range.low, "low"), key.number(sent.range.high, "high")
    bottom, top = int.from_bytes(low), int.from_bytes(high)
    if bottom > top:
        raise Refusal(_INVALID, f"{key.what}: low {bottom} is above high {top}")
    if bottom == 0 and top == (1 << key.bits) - 1:
        raise Refusal(
            _INVALID, f"{key.what}: the range {bottom} to {top} has all values; leave the field out instead"
        )
    return (low, high, 0)


def _optional(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    value = key.number(sent.optional.value)
    return (value, key.ones, 0) if key.masked else (value, b"", 1)


_DECODERS: dict[str, Callable[[KeyLayout, p4r.FieldMatch], Key]] = {
    "exact": _exact,
    "lpm": _lpm,
    "ternary": _ternary,
    "range": _range,
    "optional": _optional,
}
