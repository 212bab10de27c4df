# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's source-route header in the P4 program: every bitmap at every ptr, a frame each."""

from __future__ import annotations

from functools import partial

from papers.claims import Check, Progress, Values
from papers.claims.declare import changed, derived, shifted, stated

__all__ = ["CHECKS"]

_PAPER = "UB-Mesh §4.1.1, Fig. 11"
_derived = partial(derived, place=f"{_PAPER}, as read here")

HEADERS = (
    stated("bytes", "source-route header", 8, "bytes", shifted(4), place=_PAPER),
    _derived(
        "wrong",
        "headers whose instruction is not the count of bits set before ptr, of 65,536",
        0,
        "headers",
        changed("the bit at ptr counted too", inclusive=True),
    ),
    _derived("kept", "frames that leave with another ptr than one more", 0, "headers", shifted(1)),
    _derived(
        "seven", "headers with seven steered hops or more that are refused", 19_032, "headers", shifted(-1)
    ),
    _derived("past", "headers with ptr past 11 that are refused", 16_384, "headers", shifted(-1)),
)


def _run(note: Progress, *, inclusive: bool = False) -> Values:
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
    """Return the decision by the header's definition, computed on strings of bits."""
    bits = f"{bitmap:012b}"
    if ptr > 11 or bits.count("1") > 6:
        return "refused"
    return bits[: ptr + inclusive].count("1") if bits[ptr] == "1" else "tables"


CHECKS = (Check("source-route", "ub-mesh", "the source-route header in the P4 program", HEADERS, _run),)
