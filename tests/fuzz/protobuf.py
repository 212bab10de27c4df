# SPDX-License-Identifier: Apache-2.0
"""Messages that are almost right: fields change, move between messages of a type, double and vanish."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

__all__ = ["Choices", "Mutator"]

_INTEGERS = (
    0,
    1,
    2,
    3,
    255,
    256,
    511,
    512,
    65535,
    1 << 31,
    (1 << 31) - 1,
    (1 << 32) - 1,
    1 << 63,
    (1 << 63) - 1,
)
_TEXTS = ("", "x", "ROLE", "é", "\x00")
_F = FieldDescriptor
Field = Any  # a FieldDescriptor of whichever implementation protobuf runs on
_WIDTH = {  # bits, and whether below 0 is allowed
    **dict.fromkeys((_F.CPPTYPE_INT32, _F.CPPTYPE_ENUM), (32, True)),
    _F.CPPTYPE_UINT32: (32, False),
    _F.CPPTYPE_INT64: (64, True),
    _F.CPPTYPE_UINT64: (64, False),
}


class Choices(Protocol):
    """Source of random choices."""

    @property
    def spent(self) -> bool:
        """True when no input is left."""
        ...

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        ...

    def bytes(self, count: int) -> bytes: ...


def _is_map(field: Field) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _parts(message: Message) -> Iterator[Message]:
    """The message and all that are in it."""
    yield message
    for field, value in message.ListFields():
        if field.cpp_type == _F.CPPTYPE_MESSAGE and not _is_map(field):
            for item in value if field.is_repeated else (value,):
                yield from _parts(item)


class Mutator:
    """`donors`: messages whose parts and numbers are put into others."""

    def __init__(self, donors: Sequence[Message]) -> None:
        self._parts: dict[str, list[Message]] = {}
        integers, strings = set(_INTEGERS), set[bytes]()
        for donor in donors:
            for part in _parts(donor):
                self._parts.setdefault(part.DESCRIPTOR.full_name, []).append(part)
                for field, value in part.ListFields():
                    values = value if field.is_repeated else (value,)
                    if field.cpp_type in _WIDTH:
                        integers.update(values)
                    elif field.type == _F.TYPE_BYTES:
                        strings.update(item for item in values if len(item) < 64)
        self._integers, self._bytes = sorted(integers), sorted(strings)

    def mutate(self, message: Message, choose: Choices) -> None:
        """One change somewhere in it."""
        parts = list(_parts(message))
        part = parts[choose.below(len(parts))]
        kind = choose.below(8)
        if kind == 0:
            others = self._parts.get(part.DESCRIPTOR.full_name)
            if others:
                part.CopyFrom(others[choose.below(len(others))])
            return
        present = [field for field, _ in part.ListFields()]
        fields = present if present and kind < 6 else part.DESCRIPTOR.fields
        if not fields:
            return
        field = fields[choose.below(len(fields))]
        if kind == 1:
            part.ClearField(field.name)
        elif field.is_repeated:
            self._repeated(part, field, choose)
        elif field.cpp_type == _F.CPPTYPE_MESSAGE:
            getattr(part, field.name).CopyFrom(self._message(field, choose))
        else:
            setattr(part, field.name, self._scalar(field, getattr(part, field.name), choose))

    def _repeated(self, part: Message, field: Field, choose: Choices) -> None:
        values: Any = getattr(part, field.name)
        if _is_map(field):
            return
        at = choose.below(len(values)) if values else None
        new = (
            self._message(field, choose)
            if field.cpp_type == _F.CPPTYPE_MESSAGE
            else self._scalar(field, None, choose)
        )
        match choose.below(4):
            case 0 if at is not None:
                del values[at]
            case 1 if at is not None:
                values.append(values[at])
            case 2 if at is not None:
                values.insert(0, values.pop(at))
            case _:
                values.append(new)

    def _message(self, field: Field, choose: Choices) -> Message:
        others = self._parts.get(field.message_type.full_name)
        if others and choose.below(8):
            return others[choose.below(len(others))]
        return field.message_type._concrete_class()  # pyright: ignore[reportAttributeAccessIssue]

    def _scalar(self, field: Field, old: Any, choose: Choices) -> Any:
        if field.cpp_type in _WIDTH:
            bits, signed = _WIDTH[field.cpp_type]
            new = self._integers[choose.below(len(self._integers))]
            if old is not None and choose.below(3) == 0:
                new = old + choose.below(5) - 2
            new %= 1 << bits
            return new - (1 << bits) if signed and new >> (bits - 1) else new
        if field.cpp_type == _F.CPPTYPE_BOOL:
            return not old
        if field.type == _F.TYPE_BYTES:
            match choose.below(4):
                case 0:
                    return choose.bytes(choose.below(20))
                case 1 if old is not None:
                    return b"\x00" * choose.below(3) + old
                case 2:
                    return bytes([choose.below(16)])
                case _:
                    return self._bytes[choose.below(len(self._bytes))]
        if field.cpp_type == _F.CPPTYPE_STRING:
            return _TEXTS[choose.below(len(_TEXTS))]
        return float(choose.below(100))
