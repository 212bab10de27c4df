# SPDX-License-Identifier: Apache-2.0
"""Common style of matplotlib figures, and their export as SVG for HTML pages.

Text and axes are drawn in `currentColor`, so that the page decides on their colour. Equal data give equal
bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "DASHES",
    "INK",
    "MARKS",
    "SHEET_STYLE",
    "bar_panels",
    "bare_rows",
    "colour",
    "legend_below",
    "new_figure",
    "on_sheet",
    "plain",
    "svg_of",
    "write_beside",
]

# Okabe and Ito's palette, with grey instead of black and without yellow, which are invisible on some pages.
# Each colour has a dash and a mark.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#808080")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 3)))
MARKS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#010203"  # Placeholder that svg_of replaces by currentColor.

# CSS of an SVG in a file of its own: text and page, in light and dark colours.
SHEET_STYLE = """
svg { color: #1c2127; --page: #fff; }
@media (prefers-color-scheme: dark) { svg { color: #e4e8ec; --page: #14181c; } }
.sheet { fill: #fff; fill: var(--page, #fff); }
"""


def colour(index: int) -> str:
    """Return the colour of the variant number `index` of a scenario; it is equal in all figures."""
    return COLOURS[index % len(COLOURS)]


def new_figure(height: float) -> tuple[Figure, Axes]:
    """Return a figure 8.6 inches wide and `height` inches high, with a pair of axes in plain style."""
    with _without_docstrings():
        from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, height))
    axes = figure.subplots()
    plain(axes)
    return figure, axes


@contextmanager
def _without_docstrings() -> Iterator[None]:
    """Import matplotlib without lists of properties in docstrings: they take a quarter of the time."""
    from matplotlib import artist

    before = artist.kwdoc
    artist.kwdoc = _no_properties
    try:
        yield
    finally:
        artist.kwdoc = before


def _no_properties(_: object) -> str:
    return ""


def plain(axes: Axes) -> None:
    """Remove the top and right sides of the frame; draw axes and labels in the colour of text."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    axes.tick_params(colors=INK)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def bare_rows(axes: Axes, pad: float = 3.5) -> None:
    """Remove the vertical axis line of a figure with labelled rows; `pad` is the distance of the labels."""
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, pad=pad)


def bar_panels(
    rows: Sequence[str],
    panels: Mapping[str, Sequence[tuple[float, str]]],
    colours: Sequence[str],
    *,
    height: float,
    room: float,
) -> Figure:
    """Return a figure of horizontal bars: a panel for each title, with a bar and a text for each row.

    Args:
        rows: Labels of the rows.
        panels: By title, (length, text) of the bar in each row.
        colours: Colour of each row.
        height: Height of the figure in inches.
        room: Width of a panel as a multiple of its longest bar.
    """
    figure, _ = new_figure(height)
    figure.clear()
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, bars) in zip(all_axes, panels.items(), strict=True):
        plain(axes)
        axes.barh(range(len(bars)), [value for value, _ in bars], color=colours)
        for row, (value, text) in enumerate(bars):
            write_beside(axes, text, (value, row))
        axes.set_xlim(0, room * max(value for value, _ in bars))
        axes.set_xticks([])
        axes.set_xlabel(title, color=INK)
        axes.spines["bottom"].set_visible(False)
        bare_rows(axes)
    all_axes[0].set_yticks(range(len(rows)), rows)
    all_axes[0].invert_yaxis()
    figure.tight_layout()
    return figure


def write_beside(axes: Axes, text: str, point: tuple[float, float], right: float = 4, **font: Any) -> None:
    """Write text `right` points to the right of a point in the coordinates of the axes, such as a bar's end.

    `font` has further options of matplotlib's text, such as `fontsize`.
    """
    axes.annotate(text, point, (right, 0), textcoords="offset points", va="center", color=INK, **font)


def legend_below(axes: Axes, rows: int, room: float = 0.0) -> None:
    """Put the legend below a figure of `rows` rows and an axis label that is `room` inches high."""
    axes.legend(
        frameon=False,
        labelcolor=INK,
        loc="upper left",
        bbox_to_anchor=(0, -(0.25 + room) / (0.25 + 0.3 * rows)),
        ncols=2,
    )


def svg_of(figure: Figure, salt: str) -> str:
    """Return a figure as an <svg> element without XML declaration.

    `salt` makes the ids in the SVG reproducible: equal figures with equal salt give equal text.
    """
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt, "font.size": 10}):
        figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*"', r"\1", text, count=1)
    text = re.sub(
        r' id="(?:figure|axes|patch|text|line2d|matplotlib\.axis|xtick|ytick|legend)_\d+"', "", text
    )
    return text.replace(INK, "currentColor").strip()


def on_sheet(svg: str) -> str:
    """Return a figure of `svg_of` for a file of its own: on a sheet, as no page decides on its colours."""
    sheet = f'<style>{SHEET_STYLE}</style><rect class="sheet" width="100%" height="100%"/>'
    return re.sub(r"^<svg [^>]*>", lambda start: start[0] + sheet, svg, count=1)
