# SPDX-License-Identifier: Apache-2.0
"""Match fields and parameters of a p4info, and numbers in the wire format of protocol buffers.

Errors are InstallErrors that do not name the node; the client adds the name.
"""

from dataclasses import dataclass
from typing import final

from controller.errors import InstallError
from controller.plan.entry import Match

__all__ = ["REMEDY", "Field", "tag", "varint"]

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


def tag(message: type, name: str) -> bytes:
    """Return the tag (number and wire type) of a field of a protobuf message."""
    descriptor = message.DESCRIPTOR.fields_by_name[name]  # type: ignore[attr-defined]
    is_number = descriptor.cpp_type not in (descriptor.CPPTYPE_STRING, descriptor.CPPTYPE_MESSAGE)
    return varint(descriptor.number << 3 | (0 if is_number else 2))


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A match field, a parameter of an action or a field of a controller header.

    `kind` is None unless the field is a match field of a supported kind.
    """

    id: int
    name: str
    bits: int
    kind: type[Match] | None = None

    @property
    def wider(self) -> int:
        """Bits by which the field exceeds an address of a plan, in programs with CNA24 headers.

        These bits are 0 in every address, and prefix lengths in plans do not count them.
        """
        return max(0, self.bits - _ADDRESS_BITS) if self.name == _ADDRESS_KEY else 0

    def encode(self, value: int, what: str = "") -> bytes:
        """Return the canonical bytestring of a number.

        InstallError if the number exceeds `bits`; the message names `what`, by default the field.
        """
        if value < 0 or value >> self.bits:
            raise InstallError(
                f"{what or self.name} = {value:#x} does not fit in {self.bits} bits", remedy=REMEDY
            )
        return value.to_bytes((value.bit_length() + 7) >> 3 or 1)
