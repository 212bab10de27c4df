# SPDX-License-Identifier: Apache-2.0
"""Bytestrings and values of P4 types, between P4Runtime messages and the engine's plain numbers.

A bytestring is accepted at any length if its number fits, and sent in canonical form, the shortest (P4Runtime
specification, "Bytestrings"). The P4Data of a digest is flattened to a list of numbers, its leaves, in the
program's order; the P4Data of a register is a single number.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar, final

from finsy.proto import p4d, p4t, rpc_code

from emulation.errors import ProgramError
from emulation.p4runtime.status import Refusal

__all__ = [
    "Number",
    "Text",
    "TextOf",
    "ValueType",
    "canonical",
    "fitting",
    "signed_bytes",
    "signed_number",
    "unsigned",
    "value_type",
]

_REMEDY = "give registers and digests types of bit<W>, int<W>, bool, enum, error and structs of them"
_ZERO = b"\x00"
_ENUM_BITS = 32  # width of enum and error as p4c compiles them for BMv2

_T = TypeVar("_T")


# -- bytestrings


def canonical(value: bytes) -> bytes:
    """Return the shortest bytestring of the same unsigned number."""
    return value.lstrip(_ZERO) or _ZERO


def fitting(value: bytes, bits: int) -> bytes | None:
    """Return a bytestring without the leading zero bytes that a number of `bits` bits does not need.

    None if the bytestring is empty, or its number has more than `bits` bits.
    """
    size = len(value)
    if size and size * 8 <= bits:
        return value
    if not size or int.from_bytes(value) >> bits:
        return None
    return value[-((bits + 7) // 8) :]


def unsigned(value: bytes, bits: int, what: str) -> bytes:
    """Return the result of `fitting`; raise OUT_OF_RANGE, naming `what`, if the bytestring does not fit."""
    fits = fitting(value, bits)
    if fits is None:
        raise _out_of_range(value, f"{bits} bits", what)
    return fits


def signed_number(value: bytes, bits: int, what: str) -> int:
    """Return the number of a two's complement bytestring; OUT_OF_RANGE if it needs more than `bits` bits."""
    number = int.from_bytes(value, signed=True)
    if not value or not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise _out_of_range(value, f"{bits} signed bits", what)
    return number


def signed_bytes(number: int) -> bytes:
    """Return the shortest two's complement of a number."""
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, signed=True)


def _out_of_range(value: bytes, room: str, what: str) -> Refusal:
    reason = f"0x{value.hex()} does not fit in {room}" if value else "the bytestring is empty"
    return Refusal(rpc_code.OUT_OF_RANGE, f"{what}: {reason}")


# -- types


class ValueType(Protocol):
    """A P4 type and the conversion of its values to P4Runtime messages; a leaf is one number of a value."""

    @property
    def widths(self) -> tuple[int | None, ...]:
        """Width in bits of each leaf; None for a translated type, whose width only the program defines."""
        ...

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        """Take the leaves of a value from the iterator, and return its message in canonical form."""
        ...


TextOf = Callable[[str, int], bytes]
"""Function that returns the string of a number; arguments: name of the type, number."""


def value_type(
    spec: p4t.P4DataTypeSpec, named: p4t.P4TypeInfo, text_of: TextOf = lambda _, number: b"%d" % number
) -> ValueType:
    """Return the type described by `spec`; ProgramError if v1model's registers and digests never have it.

    `named` has the p4info's named types; `text_of` gives the strings of types that are translated to strings.
    """
    match spec.WhichOneof("type_spec"):
        case "bitstring":
            return _number(spec.bitstring)
        case "bool":
            return _Bool()
        case "struct":
            members = _find(named.structs, spec.struct.name).members
            return _Struct(
                "struct", tuple(value_type(member.type_spec, named, text_of) for member in members)
            )
        case "tuple":
            return _Struct(
                "tuple", tuple(value_type(member, named, text_of) for member in spec.tuple.members)
            )
        case "header":
            fields = _find(named.headers, spec.header.name).members
            return _Header(tuple(_number(field.type_spec) for field in fields))
        case "serializable_enum":
            bits = _find(named.serializable_enums, spec.serializable_enum.name).underlying_type.bitwidth
            return Number(bits, False, "enum_value")
        case "enum":
            return _Name("enum", tuple(member.name for member in _find(named.enums, spec.enum.name).members))
        case "error":
            return _Name("error", tuple(named.error.members))
        case "new_type":
            new = _find(named.new_types, spec.new_type.name)
            if new.WhichOneof("representation") == "original_type":
                return value_type(new.original_type, named, text_of)
            if new.translated_type.sdn_bitwidth:
                return Number(new.translated_type.sdn_bitwidth, False, translated=True)
            if new.translated_type.HasField("sdn_string"):
                return Text(spec.new_type.name, text_of)
        case _:
            pass
    raise ProgramError(f"p4info: a value of type {str(spec).strip()!r} is not supported", remedy=_REMEDY)


def _find(among: Mapping[str, _T], name: str) -> _T:
    if name not in among:
        raise ProgramError(f"p4info: type {name!r} is not in its type_info", remedy=_REMEDY)
    return among[name]


def _number(spec: p4t.P4BitstringLikeTypeSpec) -> "Number":
    kind = spec.WhichOneof("type_spec")
    if kind == "bit":
        return Number(spec.bit.bitwidth, False)
    if kind == "int":
        return Number(spec.int.bitwidth, True)
    raise ProgramError("p4info: a value of type varbit is not supported", remedy=_REMEDY)


@final
@dataclass(frozen=True, slots=True)
class Number:
    """A bit<W>, an int<W> or an enum with numbers; `kind` is its field of P4Data.

    `bits` of a translated type is the width that controllers use; the program's width may differ.
    """

    bits: int
    signed: bool
    kind: str = "bitstring"
    translated: bool = False

    @property
    def widths(self) -> tuple[int | None, ...]:
        """Width in bits of the number, the only leaf; None for a translated type."""
        return (None if self.translated else self.bits,)

    def pack(self, number: int) -> bytes:
        """Return the bytestring of a number."""
        if not self.signed:
            return number.to_bytes((number.bit_length() + 7) // 8 or 1)
        return signed_bytes(number - (number >> (self.bits - 1) << self.bits))

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        """Take the next number from `leaves`, and return its message in canonical form."""
        return p4d.P4Data(**{self.kind: self.pack(next(leaves))})  # pyright: ignore[reportArgumentType]

    def decode(self, data: p4d.P4Data, what: str) -> int:
        """Return the number in a message; a Refusal, naming `what`, if the message has another type."""
        given = data.WhichOneof("data")
        if given != self.kind:
            raise Refusal(
                rpc_code.INVALID_ARGUMENT, f"{what}: the data must be a {self.kind}, not {given or 'unset'}"
            )
        value: bytes = getattr(data, self.kind)
        if self.signed:
            return signed_number(value, self.bits, what) % (1 << self.bits)
        return int.from_bytes(unsigned(value, self.bits, what))


@final
@dataclass(frozen=True, slots=True)
class _Bool:
    widths: tuple[int | None, ...] = (1,)

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        return p4d.P4Data(bool=bool(next(leaves)))


@final
@dataclass(frozen=True, slots=True)
class _Name:
    """An enum without numbers, or an error; the program numbers its members in their order."""

    kind: str
    names: tuple[str, ...]
    widths: tuple[int | None, ...] = (_ENUM_BITS,)

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        number = next(leaves)
        name = self.names[number] if number < len(self.names) else str(number)
        return p4d.P4Data(**{self.kind: name})  # pyright: ignore[reportArgumentType]


@final
@dataclass(frozen=True, slots=True)
class Text:
    """Type of a number that controllers see as a string."""

    name: str
    text_of: TextOf
    widths: tuple[int | None, ...] = (None,)

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        return p4d.P4Data(bitstring=self.text_of(self.name, next(leaves)))


@final
@dataclass(frozen=True, slots=True)
class _Struct:
    """The type of a struct or a tuple, with the types of its members."""

    kind: str
    members: tuple[ValueType, ...]

    @property
    def widths(self) -> tuple[int | None, ...]:
        return tuple(width for member in self.members for width in member.widths)

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        held = p4d.P4StructLike(members=[member.encode(leaves) for member in self.members])
        return p4d.P4Data(**{self.kind: held})  # pyright: ignore[reportArgumentType]


@final
@dataclass(frozen=True, slots=True)
class _Header:
    """A header inside a digest; the program sends its fields without their validity."""

    fields: tuple[Number, ...]

    @property
    def widths(self) -> tuple[int | None, ...]:
        return tuple(field.bits for field in self.fields)

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        bitstrings = [field.pack(next(leaves)) for field in self.fields]
        return p4d.P4Data(header=p4d.P4Header(is_valid=True, bitstrings=bitstrings))
