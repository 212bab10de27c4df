# SPDX-License-Identifier: Apache-2.0
"""The 8-byte source-route header (UB-Mesh, All-Path-Routing).

The fields are ptr (4 bits), bitmap (12 bits) and six instructions (8 bits each). Bit `ptr` of the bitmap,
counted from the left, says what decides a hop: 1 an instruction, 0 the tables. The number of bits set to the
left of this bit is the index of the instruction, whose value is the egress port.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from controller.errors import PlanError

__all__ = [
    "HEADER_BYTES",
    "INSTRUCTION_BITS",
    "MAX_HOPS",
    "MAX_INSTRUCTIONS",
    "MAX_PORT",
    "SourceRoute",
    "decode",
    "encode",
    "instruction_index",
    "pack",
]

HEADER_BYTES = 8
MAX_HOPS = 12
MAX_INSTRUCTIONS = 6
INSTRUCTION_BITS = 8

MAX_PORT = (1 << INSTRUCTION_BITS) - 1


@final
@dataclass(frozen=True, slots=True)
class SourceRoute:
    """Fields of the header on one link; bit 0 of `bitmap` is leftmost, `instructions` has six values."""

    ptr: int
    bitmap: int
    instructions: tuple[int, ...]

    @property
    def problem(self) -> str:
        """Reason for which a router refuses the header; empty if the router accepts it."""
        if self.ptr >= MAX_HOPS:
            return f"ptr {self.ptr} is past {MAX_HOPS - 1}"
        if self.bitmap.bit_count() > MAX_INSTRUCTIONS:
            return f"bitmap asks for {self.bitmap.bit_count()} instructions; a header has {MAX_INSTRUCTIONS}"
        return ""

    def egress_port(self) -> int | None:
        """Return the port of this hop, or None where the tables decide; PlanError on a refused header."""
        if self.problem:
            raise PlanError(f"the source route is refused: {self.problem}", remedy="send a shorter route")
        index = instruction_index(self.bitmap, self.ptr)
        return None if index is None else self.instructions[index]

    def advanced(self) -> "SourceRoute":
        """Return the header after this hop."""
        return SourceRoute(self.ptr + 1, self.bitmap, self.instructions)


def instruction_index(bitmap: int, ptr: int) -> int | None:
    """Return the index of the instruction for hop `ptr`, or None if the tables decide the hop."""
    if not bitmap >> (MAX_HOPS - 1 - ptr) & 1:
        return None
    return (bitmap >> (MAX_HOPS - ptr)).bit_count()


def pack(ports: Sequence[int | None]) -> tuple[int, int]:
    """Return (bitmap, 48 bits of instructions) for egress ports; None leaves a hop to the tables."""
    steered = [port for port in ports if port is not None]
    if len(steered) > MAX_INSTRUCTIONS:
        raise PlanError(
            f"the route steers {len(steered)} hops; a source route holds at most {MAX_INSTRUCTIONS}",
            remedy="leave some of the hops to the tables",
        )
    instructions = 0
    for number, port in enumerate(steered):
        if not 0 <= port <= MAX_PORT:
            raise PlanError(
                f"port {port} does not fit in {INSTRUCTION_BITS} bits", remedy=f"use ports up to {MAX_PORT}"
            )
        instructions |= port << INSTRUCTION_BITS * (MAX_INSTRUCTIONS - 1 - number)
    bits = "".join("0" if port is None else "1" for port in ports)
    return int(bits.ljust(MAX_HOPS, "0"), 2), instructions


def encode(route: SourceRoute) -> bytes:
    """Return the 8 bytes of a header, even if routers refuse it; PlanError if a value is too wide."""
    if not (0 <= route.ptr < 16 and 0 <= route.bitmap < 1 << MAX_HOPS):
        raise PlanError(
            f"ptr {route.ptr} and bitmap {route.bitmap:#x} do not fit in 4 and 12 bits",
            remedy="use a ptr from 0 to 15 and a bitmap from 0 to 0xfff",
        )
    if len(route.instructions) != MAX_INSTRUCTIONS or not all(
        0 <= port <= MAX_PORT for port in route.instructions
    ):
        raise PlanError(
            f"the instructions {route.instructions} are not {MAX_INSTRUCTIONS} values of "
            f"{INSTRUCTION_BITS} bits",
            remedy="fill unused instructions with 0",
        )
    return (route.ptr << 12 | route.bitmap).to_bytes(2) + bytes(route.instructions)


def decode(header: bytes) -> SourceRoute:
    """Return the header in exactly 8 bytes."""
    if len(header) != HEADER_BYTES:
        raise PlanError(
            f"the source route has {len(header)} bytes, not {HEADER_BYTES}",
            remedy=f"give exactly {HEADER_BYTES} bytes",
        )
    first = int.from_bytes(header[:2])
    return SourceRoute(first >> 12, first & 0xFFF, tuple(header[2:]))
