# SPDX-License-Identifier: Apache-2.0
"""Fabrics: a small member of each family, and circuits that change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from harness.report.figures.fabric import FABRIC_STYLE, fabric_svg
from scripts.pictures.svg import Box, picture, stroke, text
from topologies import optical_rings, with_circuits
from topologies.families.registry import build
from topologies.model.circuits import crossconnect

__all__ = ["FABRICS", "circuits", "fabric"]

# A small fabric of every family, named as its picture, and what its labels mean.
FABRICS: Mapping[str, tuple[str, Mapping[str, object], str]] = {
    "full-mesh": ("full-mesh", {"dims": [4, 4]}, "0 to 15: NPUs"),
    "ub-rack": (
        "ub-rack-lrs",
        {"dims": [8, 2], "planes": 2, "uplink_lanes": 8},
        "0 to 15: NPUs; n, r, c: LRS of two planes; S0: spare NPU; C0: CPU",
    ),
    "rail-only": ("rail-only", {"domains": 4, "hb_size": 4}, "0 to 15: GPUs; R: rail switches"),
    "rail-optimised": (
        "rail-optimised",
        {"domains": 4, "hb_size": 4, "radix": 8},
        "0 to 15: GPUs; R: rail switches; S: spines",
    ),
    "lumos": (
        "lumos",
        {"pods": 3, "leaves": 2, "spines": 2, "accelerators": 4, "hb_size": 4},
        "0 to 23: GPUs; P.N: leaf N, above it spine N, of Pod P",
    ),
    "hpn": (
        "hpn",
        {"segments": 2, "hosts": 2, "rails": 4, "aggs": 2},
        "0 to 15: GPUs; S.R.N: ToR N of rail R in segment S; P.N: aggregation switch N of plane P",
    ),
    "fat-tree": ("fat-tree", {}, "numbers: NPUs; e, a, c: edge, aggregation and core switches"),
    "dragonfly": ("dragonfly", {}, "numbers: NPUs; gGrR: router R of group G"),
    "hyperx": ("hyperx", {}, "numbers: NPUs; sX.Y: switch of column X and row Y"),
    "slim-fly": ("slim-fly", {}, "numbers: NPUs; r: routers, two hops from each other at most"),
}

# Room for the line of text below a fabric.
CAPTION = 22.0


def fabric(name: str) -> str:
    """Draw the small fabric of a family as a document of its own."""
    family, parameters, caption = FABRICS[name]
    strokes = ".fabric path { stroke-opacity: 0.55; stroke-width: 1.2; }"
    style = f"<style>svg {{ background: #fff; color: #1c2733; }}{FABRIC_STYLE}{strokes}</style>"
    opening, rest = fabric_svg(build(family, **parameters)).split("\n", 1)
    box = re.search(r'viewBox="([^"]*)"', opening)
    assert box is not None
    x, y, width, height = map(float, box[1].split())
    # A narrow fabric stands in the middle above its caption.
    wide = max(width, 5.6 * len(caption) + 2 * CAPTION)
    frame = f'viewBox="{x - (wide - width) / 2:g} {y:g} {wide:g} {height + CAPTION:g}"'
    middle, bottom = x + width / 2, y + height + 2
    words = f'<text x="{middle:g}" y="{bottom:g}" style="font-size: 11px">{escape(caption)}</text>'
    return f"{opening.replace(box[0], frame)}\n{style}\n{rest.removesuffix('</svg>')}{words}\n</svg>\n"


def circuits() -> str:
    """Draw four NPUs on an optical circuit switch, before and after a change of its circuits."""
    ring = optical_rings(4)
    pairs = with_circuits(ring, "ocs0", {0: 2, 1: 3})
    ends = ring.optical[0].ends
    parts: list[str] = []
    half = len(ends) // 2
    for left, title, joined in ((0.0, "a ring", ring), (330.0, "two circuits, four dark ports", pairs)):
        parts += [text(left + 150, 18, title, "title")]
        parts += Box(left + 84, 32, 132, 40 * half + 8, (), "quiet").svg()
        parts.append(text(left + 150, 50 + 40 * half + 6, "ocs0"))
        for port, end in enumerate(ends):
            x = left + (84 if port < half else 216)
            y = 56 + 40 * (port % half)
            outside = x - 74 if port < half else x + 4
            parts.append(text(outside, y - 4, f"{end.node} port {end.port}", "small left"))
            parts.append(stroke(f"M{outside:g} {y:g}h70", "faint"))
            inside, anchor = (x + 5, "small left") if port < half else (x - 5, "small right")
            parts.append(text(inside, y - 4, str(port), anchor))
        for port, peer in crossconnect(joined, "ocs0").items():
            if port < peer:
                parts.append(_light(left, port, peer, half))
    return picture(640, 58 + 40 * half + 8, "Circuits of an optical switch before and after a change", parts)


def _light(left: float, port: int, peer: int, half: int) -> str:
    """Return the line of a circuit between two ports of the switch; ports of one side bulge inwards."""
    (x1, y1), (x2, y2) = (
        (left + (84 if number < half else 216), 56 + 40 * (number % half)) for number in (port, peer)
    )
    middle = left + 150 if x1 != x2 else x1 + (70 if port < half else -70)
    return stroke(f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}", "orange")
