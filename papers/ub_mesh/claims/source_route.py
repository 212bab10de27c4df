# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's source-route header in the P4 program: every bitmap at every ptr, a frame each."""

from __future__ import annotations

from functools import partial

from papers.claims import Check, Claim, Kind, Progress, Values, changed, exactly, shifted

__all__ = ["CHECKS"]

_PAPER = "UB-Mesh §4.1.1, Fig. 11"
_derived = partial(Claim, kind=Kind.derived, place=f"{_PAPER}, as read here", unit="headers")

HEADERS = (
    Claim(
        name="bytes",
        text="source-route header",
        place=_PAPER,
        kind=Kind.stated,
        unit="bytes",
        paper=exactly(8),
        holds=exactly(8),
        mutation=shifted(4),
    ),
    _derived(
        name="wrong",
        text="headers whose instruction is not the count of bits set before ptr, of 65,536",
        holds=exactly(0),
        mutation=changed("the bit at ptr counted too", inclusive=True),
    ),
    _derived(
        name="kept",
        text="frames that leave with another ptr than one more",
        holds=exactly(0),
        mutation=shifted(1),
    ),
    _derived(
        name="seven",
        text="headers with seven steered hops or more that are refused",
        holds=exactly(19_032),
        mutation=shifted(-1),
    ),
    _derived(
        name="past",
        text="headers with ptr past 11 that are refused",
        holds=exactly(16_384),
        mutation=shifted(-1),
    ),
)


def _run(note: Progress, *, inclusive: bool = False) -> Values:
    from lab.frames.header_vectors import HOPS, INSTRUCTIONS, put_every_header

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
