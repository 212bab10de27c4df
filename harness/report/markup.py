# SPDX-License-Identifier: Apache-2.0
"""Tables and numbers of a report as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

__all__ = ["shown", "table"]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> str:
    """Return an HTML table from cells in HTML; the last `numbers` columns are right-aligned."""
    first = len(heads) - numbers

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} class="n">{cell}</{tag}>' if column >= first else f"<{tag}>{cell}</{tag}>"
            for column, cell in enumerate(cells)
        )

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{line(heads, "th")}</tr>\n{body}</table></div>'


def shown(figure: float) -> str:
    """Return a number with thousands separated and at most six decimals; `never` for an infinite time."""
    if isinf(figure):
        return "never"
    if isinstance(figure, int) or float(figure).is_integer():
        return f"{int(figure):,}"
    return f"{figure:,.6f}".rstrip("0").rstrip(".")
