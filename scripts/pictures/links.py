# SPDX-License-Identifier: Apache-2.0
"""A link as one end sees it, and frames on a link over time."""

from __future__ import annotations

from scripts.pictures.svg import Box, arrow, picture, stroke, text

__all__ = ["link_states", "link_timing"]


def link_states() -> str:
    """Draw the states of a link as one of its ends sees them, and what a node does at each change."""
    boxes = (
        Box(30, 40, 190, 58, ("in use", "carrier up; hellos arrive;", "the neighbour hears ours")),
        Box(410, 40, 190, 58, ("out of use", "no path of this node uses it"), "lost"),
        Box(410, 200, 190, 58, ("returning", "hellos are counted in a row")),
    )
    parts = [line for box in boxes for line in box.svg()]
    parts += [
        arrow("M220 58H410"),
        text(315, 34, "carrier lost, or silence for"),
        text(315, 50, "3.5 hello periods"),
        arrow("M505 98V200"),
        text(512, 152, "carrier back: hellos arrive again", "small left"),
        arrow("M440 200V98"),
        text(404, 136, "a hello"),
        text(404, 150, "is missing"),
        arrow("M410 229H125V98"),
        text(268, 222, "3 hellos in a row, both ways"),
        *Box(
            30,
            290,
            272,
            66,
            ("when it fails", "tables change to other paths first,", "then notices go out"),
            "quiet",
        ).svg(),
        *Box(
            328,
            290,
            272,
            66,
            ("when it returns", "tables change back, then notices go out", "with a higher sequence number"),
            "quiet",
        ).svg(),
    ]
    return picture(700, 372, "States of a link, seen from one end", parts)


def link_timing() -> str:
    """Draw frames on a link whose receive buffer holds two of them, and the credits that come back.

    One frame takes 8 ns on each of two links, the delay of the first link is 5 ns each way.
    """
    frame_ns, delay_ns, buffer, count = 8, 5, 2, 5
    starts: list[int] = []
    credits: list[int] = []
    for number in range(count):
        ready = starts[-1] + frame_ns if starts else 0
        start = max(ready, credits[number - buffer]) if number >= buffer else ready
        starts.append(start)
        credits.append(start + 2 * (frame_ns + delay_ns))
    scale, left = 6.6, 118.0
    rows = {"sender": 40.0, "receiver": 118.0, "next link": 164.0}
    parts = [text(10, y + 16, f"{name}", "title left") for name, y in rows.items()]
    for number, start in enumerate(starts):
        style = ("box", "quiet")[number % 2]
        arrives = start + delay_ns
        for row, at in (("sender", start), ("receiver", arrives), ("next link", arrives + frame_ns)):
            parts += Box(left + scale * at, rows[row], scale * frame_ns, 24, (str(number),), style).svg()
        edge = left + scale * start
        parts.append(stroke(f"M{edge:g} 64L{edge + scale * delay_ns:g} 118", "faint"))
        end = left + scale * (arrives + 2 * frame_ns)
        if number + buffer < count:
            parts.append(arrow(f"M{end:g} 188V204H{end + scale * delay_ns:g}V66", "orange dashed"))
            parts.append(text(end + scale * delay_ns / 2, 218, f"credit {number}"))
    first = left + scale * frame_ns * buffer
    parts.append(text((first + left + scale * credits[0]) / 2, 32, "frame 2 waits for credit 0"))
    axis = 236.0
    last = starts[-1] + 2 * frame_ns + delay_ns
    parts.append(stroke(f"M{left:g} {axis:g}H{left + scale * last:g}", "faint"))
    for tick in range(0, last + 1, 10):
        at = left + scale * tick
        parts += [stroke(f"M{at:g} {axis:g}v5", "faint"), text(at, axis + 18, f"{tick} ns")]
    return picture(left + scale * last + 30, axis + 28, "Frames and credits of a link over time", parts)
