# SPDX-License-Identifier: Apache-2.0
"""Tables and numbers of a report as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isinf
from pathlib import Path

__all__ = ["POLICY", "html_page", "shown", "table"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""Content security policy of pages with scripts: a browser refuses all network requests of the page."""


def html_page(title: str, body: Iterable[str], style: str = "", policy: str = "") -> str:
    """Return an HTML page in the common style, page.css, which the CSS `style` extends.

    `body` has the lines of the page in HTML. `policy`, if given, is the page's content security policy.
    """
    common = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    security = [f'<meta http-equiv="Content-Security-Policy" content="{policy}">'] if policy else []
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        *security,
        f"<title>{escape(title)}</title>",
        f"<style>\n{common}{style}</style></head>",
    ]
    return "\n".join([*head, "<body>", *body, "</body>", "</html>\n"])


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
