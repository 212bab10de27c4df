# SPDX-License-Identifier: Apache-2.0
"""Strings of types with `@p4runtime_translation(..., string)`, and their numbers in the program.

The specification leaves the translation to the configuration of the switch. Here it follows from the strings
that controllers use. A decimal number stands for itself, so that port 3 is "3"; any other string gets the
largest number that no string stands for, and keeps it as long as the pipeline is in use. A number that no
controller has named is reported in decimal.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from finsy.proto import p4d, rpc_code

from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal

__all__ = ["StringCell", "Strings"]

# Most bytes of a string, and most strings of a type. A string keeps its number for good, so without a limit a
# controller could fill the memory.
_LONGEST, _MOST = 1_024, 1 << 18
_DECIMAL = re.compile(rb"0|[1-9][0-9]*")


@final
class Strings:
    """Translation between strings and numbers of one type, of `bits` bits in the program."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._numbers: dict[bytes, int] = {}
        self._texts: dict[int, bytes] = {}
        self._next = (1 << bits) - 1

    def number(self, text: bytes, what: str) -> bytes:
        """Return the number of a string, in canonical form.

        A Refusal, naming `what`: INVALID_ARGUMENT for bytes that are not UTF-8 or more than 1,024,
        RESOURCE_EXHAUSTED if no number is left, or if a decimal number already stands for another string.
        """
        number = self._numbers.get(text)
        if number is None:
            number = self._new(text, what)
            self._numbers[text], self._texts[number] = number, text
        return canonical(number.to_bytes((self._bits + 7) // 8))

    def text(self, number: bytes) -> bytes:
        """Return the string of a number given as a bytestring."""
        return self.text_of(int.from_bytes(number))

    def text_of(self, number: int) -> bytes:
        """Return the string of a number."""
        text = self._texts.get(number)
        return b"%d" % number if text is None else text

    def _new(self, text: bytes, what: str) -> int:
        if len(text) > _LONGEST:
            raise Refusal(
                rpc_code.INVALID_ARGUMENT, f"{what}: the string has {len(text)} bytes, more than {_LONGEST}"
            )
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            raise Refusal(
                rpc_code.INVALID_ARGUMENT, f"{what}: 0x{text.hex()} is not a string in UTF-8"
            ) from None
        if _DECIMAL.fullmatch(text) and int(text) >> self._bits == 0:
            number = int(text)
            if number in self._texts:
                other = self._texts[number].decode()
                raise Refusal(
                    rpc_code.RESOURCE_EXHAUSTED, f"{what}: number {number} stands for {other!r} already"
                )
            return number
        while self._next in self._texts:
            self._next -= 1
        if self._next < 0 or len(self._texts) >= _MOST:
            raise Refusal(
                rpc_code.RESOURCE_EXHAUSTED, f"{what}: no number of {self._bits} bits is left for {decoded!r}"
            )
        return self._next


@final
@dataclass(frozen=True, slots=True)
class StringCell:
    """Type of a register with cells of `bits` bits, which controllers see as strings."""

    bits: int
    strings: Strings

    def encode(self, leaves: Iterator[int]) -> p4d.P4Data:
        """Take the next number from `leaves`, and return the message with its string."""
        return p4d.P4Data(bitstring=self.strings.text_of(next(leaves)))

    def decode(self, data: p4d.P4Data, what: str) -> int:
        """Return the number of the string in a message; a Refusal, naming `what`, for another type."""
        if not data.HasField("bitstring"):
            given = data.WhichOneof("data") or "unset"
            raise Refusal(rpc_code.INVALID_ARGUMENT, f"{what}: the data must be a bitstring, not {given}")
        return int.from_bytes(self.strings.number(data.bitstring, what))
