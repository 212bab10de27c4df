# SPDX-License-Identifier: Apache-2.0
"""Pictures for lab sessions: a change of circuits over time, and a hash that two tiers use alike."""

from __future__ import annotations

from collections import Counter
from itertools import product

from controller.forwarding.pipeline import frame_hash
from scripts.pictures.svg import Box, arrow, picture, stroke, text

__all__ = ["circuit_change", "polarised_hash"]


def circuit_change() -> str:
    """Draw what a circuit that stays, one that goes and a new one carry while mirrors turn (lab 6)."""
    drain_us, turn_us, spare_us, end_us = 6, 18, 1, 32
    lit_us = drain_us + turn_us
    use_us = lit_us + spare_us
    scale, left = 17.0, 150.0

    def at(us: float) -> float:
        return left + scale * us

    def row(y: float, begin: float, end: float, words: str, style: str) -> list[str]:
        return list(Box(at(begin), y, scale * (end - begin), 26, (words,) if words else (), style).svg())

    parts = [
        text(10, y + 17, name, "title left")
        for y, name in ((50, "circuit that stays"), (94, "circuit that goes"), (138, "new circuit"))
    ]
    parts += row(50, -1, end_us, "carries frames all the time", "box")
    parts += row(94, -1, 0, "", "box")
    parts += row(94, 0, drain_us, "drains", "box")
    parts += row(94, drain_us, end_us, "dark: a frame sent here is lost", "lost")
    parts += row(138, -1, drain_us, "", "quiet")
    parts += row(138, drain_us, lit_us, "mirrors turn: no light yet", "lost")
    parts += row(138, lit_us, use_us, "", "quiet")
    parts += row(138, use_us, end_us, "carries frames", "box")
    for us, name, what in (
        (0, "leave", "routes leave"),
        (drain_us, "turn", "mirrors turn"),
        (use_us, "use", "routes return"),
    ):
        parts.append(stroke(f"M{at(us):g} 42V176", "dashed"))
        parts += [text(at(us), 20, name, "title"), text(at(us), 35, what)]
    parts.append(arrow(f"M{at(-1):g} 196H{at(end_us) + 14:g}"))
    parts += [text(at(us), 212, f"{us} us") for us in (0, drain_us, lit_us)]
    return picture(at(end_us) + 30, 226, "A change of circuits that loses no frame", parts)


def polarised_hash() -> str:
    """Draw how 4,096 flows divide at two tiers that use the same bits of the hash, and other bits (lab 7)."""
    return picture(
        720,
        340,
        "4,096 flows, divided by four and by two: with the same bits of the hash, and with other bits",
        [*_divided(0, 0, "the same bits at both tiers"), *_divided(360, 2, "other bits at each tier")],
    )


def _divided(left: float, shift: int, title: str) -> list[str]:
    """Draw flows from a ToR over four aggregation switches to two ToRs; the latter shift the hash."""
    counts: Counter[tuple[int, int]] = Counter()
    for source, target, lb in product(range(4), range(4), range(256)):
        value = frame_hash(source, 256 + target, lb)
        counts[value & 3, value >> shift & 1] += 1
    parts = [text(left + 180, 22, title, "title")]
    parts += Box(left + 120, 286, 120, 40, ("ToR", "hash, 2 bits")).svg()
    for agg in range(4):
        x = left + 14 + 86 * agg
        total = counts[agg, 0] + counts[agg, 1]
        parts += Box(x, 180, 74, 40, (f"agg {agg}", f"{total} flows")).svg()
        parts.append(stroke(f"M{left + 180:g} 286L{x + 37:g} 220", "blue"))
        for tor in range(2):
            flows = counts[agg, tor]
            to = left + 100 + 160 * tor
            parts.append(stroke(f"M{x + 37:g} 180L{to:g} 96", "blue" if flows else "faint dashed"))
            parts.append(text(x + 22 + 32 * tor, 174, f"{flows}"))
    for tor in range(2):
        arrived = sum(counts[agg, tor] for agg in range(4))
        parts += Box(left + 40 + 160 * tor, 52, 120, 44, (f"ToR {tor}", f"{arrived} flows")).svg()
    return parts
