# SPDX-License-Identifier: Apache-2.0
"""Drawings: SVG documents, which a notebook shows and a file stores."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from harness.errors import OutputError
from harness.output import write_file
from topologies import Fabric

__all__ = ["Drawing", "draw", "draw_links"]


@final
@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """An SVG document; a notebook shows it if it is the last value of a cell."""

    svg: str

    def save(self, path: str | Path) -> None:
        """Write the drawing to a file.

        Raises:
            RailyardError: The file cannot be written.
        """
        path = Path(path)
        write_file(path, self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing, {len(self.svg):,} characters of SVG>"


def draw(fabric: Fabric) -> Drawing:
    """Draw a fabric: nodes arranged by position in the fabric, links as arcs.

    Raises:
        RailyardError: The fabric has too many links to draw.
    """
    return draw_links(fabric, None)


def draw_links(
    fabric: Fabric,
    busy: Mapping[str, tuple[float, float]] | None,
    cut: Collection[str] = (),
    full: float = 1.0,
) -> Drawing:
    """Draw a fabric with busy links wider and stronger than idle links.

    Args:
        fabric: The fabric.
        busy: Busy share of each link, 0 to 1, from its first to its second end, and back.
        cut: Names of links that failed.
        full: Busy share that is drawn at full strength.

    Raises:
        RailyardError: The fabric has too many links to draw.
    """
    from harness.report.figures.fabric import FABRIC_STYLE, fabric_svg, too_large

    if words := too_large(fabric):
        raise OutputError(
            f"{fabric.name} cannot be drawn: {words}", remedy="use smaller `dims` or other parameters"
        )
    svg = fabric_svg(fabric, busy, cut, full=full)
    return Drawing(svg.replace("</title>", f"</title><style>{FABRIC_STYLE}</style>", 1) + "\n")
