# SPDX-License-Identifier: Apache-2.0
"""Numbers as bytestrings (P4Runtime specification, "Bytestrings").

Taken at any length as long as the number fits; returned in the canonical form, which is the shortest.
"""

from finsy.proto import rpc_code

from emulation.p4runtime.status import Refusal

__all__ = ["canonical", "fitting", "signed_bytes", "signed_number", "unsigned"]

_ZERO = b"\x00"


def canonical(value: bytes) -> bytes:
    """The shortest bytestring of the same unsigned number."""
    return value.lstrip(_ZERO) or _ZERO


def fitting(value: bytes, bits: int) -> bytes | None:
    """The bytestring without zero bytes too many; None if it is empty or its number needs more bits."""
    size = len(value)
    if size and size * 8 <= bits:
        return value
    if not size or int.from_bytes(value) >> bits:
        return None
    return value[-((bits + 7) // 8) :]


def unsigned(value: bytes, bits: int, what: str) -> bytes:
    """The bytestring of an unsigned number of at most `bits` bits; OUT_OF_RANGE, naming `what`, if not."""
    fits = fitting(value, bits)
    if fits is None:
        raise _out_of_range(value, f"{bits} bits", what)
    return fits


def signed_number(value: bytes, bits: int, what: str) -> int:
    """The number of a bytestring in two's complement; OUT_OF_RANGE if `bits` bits do not hold it."""
    number = int.from_bytes(value, signed=True)
    if not value or not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise _out_of_range(value, f"{bits} signed bits", what)
    return number


def signed_bytes(number: int) -> bytes:
    """The shortest two's complement of a number."""
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, signed=True)


def _out_of_range(value: bytes, room: str, what: str) -> Refusal:
    reason = f"0x{value.hex()} does not fit in {room}" if value else "an empty bytestring"
    return Refusal(rpc_code.OUT_OF_RANGE, f"{what}: {reason}")
