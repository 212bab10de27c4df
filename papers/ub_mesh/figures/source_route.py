# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's source-route header in the P4 program: one frame for every bitmap and every ptr."""

from __future__ import annotations

from papers.claims import Progress, Values


def source_route(note: Progress, *, inclusive: bool = False) -> Values:
    """Send a frame for every bitmap and ptr through the P4 program, and count wrong and refused headers.

    With `inclusive`, the definition counts the bit at ptr too, as a mutation.
    """
    # This module needs Scapy, which is slow to import.
    from harness.frames.header_vectors import HOPS, INSTRUCTIONS, put_every_header

    seen = put_every_header(lambda share: note("65,536 headers", share))
    return {
        "bytes": seen.pushed,
        "wrong": sum(
            result != _defined(*header, inclusive=inclusive) for header, result in seen.decided.items()
        ),
        "kept": not seen.advanced,
        "seven": seen.drops.get(INSTRUCTIONS, 0),
        "past": seen.drops.get(HOPS, 0),
    }


def _defined(ptr: int, bitmap: int, *, inclusive: bool) -> int | str:
    """Return the instruction's index, "tables" or "refused", as the header's definition requires."""
    bits = f"{bitmap:012b}"
    if ptr > 11 or bits.count("1") > 6:
        return "refused"
    return bits[: ptr + inclusive].count("1") if bits[ptr] == "1" else "tables"
