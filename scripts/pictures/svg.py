# SPDX-License-Identifier: Apache-2.0
"""Boxes, lines, arrows and text as SVG, in pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import final

__all__ = ["Box", "arrow", "picture", "stroke", "text"]

STYLE = """
svg { background: #fff; color: #1c2733; }
rect.box { fill: #eaf2fb; stroke: #3f8fe0; stroke-width: 1.2; }
rect.quiet { fill: #f6f7f8; stroke: #9aa5b1; }
rect.lost { fill: #fdeee4; stroke: #e0600a; }
rect.blue { fill: #3f8fe0; stroke: none; }
rect.orange { fill: #e0600a; stroke: none; }
rect.green { fill: #2f9e6e; stroke: none; }
path { fill: none; stroke: #1c2733; stroke-width: 1.2; }
path.arrow { marker-end: url(#head); }
path.blue { stroke: #3f8fe0; stroke-width: 2; }
path.orange { stroke: #e0600a; stroke-width: 2; }
path.mark { stroke-width: 2.4; }
path.faint { stroke: #9aa5b1; stroke-opacity: 0.6; }
path.dashed { stroke-dasharray: 4 3; }
text { fill: #1c2733; font: 12px system-ui, sans-serif; text-anchor: middle; }
text.title { font-weight: 600; }
text.small { font-size: 10.5px; fill: #45525f; }
text.left { text-anchor: start; }
text.right { text-anchor: end; }
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
    'markerUnits="userSpaceOnUse" orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill: #1c2733; stroke: none"/></marker></defs>'
)


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A labelled rectangle in pixels: the first line is its title."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...] = ()
    style: str = "box"

    def svg(self) -> Iterator[str]:
        """Yield the rectangle and its lines of text."""
        yield (
            f'<rect class="box {self.style}" x="{self.x:g}" y="{self.y:g}" '
            f'width="{self.width:g}" height="{self.height:g}" rx="4"/>'
        )
        first = self.y + self.height / 2 - 7.5 * (len(self.lines) - 1) + 4
        for number, line in enumerate(self.lines):
            kind = "small" if number else "title"
            yield text(self.x + self.width / 2, first + 15 * number, line, kind)


def text(x: float, y: float, words: str, style: str = "small") -> str:
    """Return a line of text whose anchor is at (x, y)."""
    return f'<text class="{style}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


def arrow(path: str, style: str = "") -> str:
    """Return an arrow along an SVG path."""
    return stroke(path, f"arrow {style}".strip())


def stroke(path: str, style: str) -> str:
    """Return a line along an SVG path."""
    return f'<path class="{style}" d="{path}"/>'


def picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return a whole SVG document."""
    # Opened by itself, a picture is no wider than its window.
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" style="max-width: 100%"'
    head = f"<title>{escape(title)}</title><style>{STYLE}</style>{HEAD}"
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', head, *parts, "</svg>\n"]
    )
