# SPDX-License-Identifier: Apache-2.0
"""Page experiments.html: tables of claims with a plot in each row, and filters by kind and verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from harness.report.markup import html_page, table
from papers.claims.check import Check, Row, headline, ours, says
from papers.claims.claim import Claim, Interval, Kind, Verdict
from papers.claims.form.reader import ClaimFile

__all__ = ["experiments_html", "strip_svg"]

VERDICTS: Mapping[Verdict, str] = {"holds": "yes", "known difference": "known", "unexpected": "no"}

FILTERS = {
    "kind": {kind.value: kind.value for kind in Kind},
    "verdict": {name: verdict for verdict, name in VERDICTS.items()},
}
"""Groups of rows that the page can hide: classes of cells, with their words."""

LEGEND = (
    "Plot of a row: green band, where the claim holds; amber band, where a known difference is expected; "
    "dashed line, the paper's figure; dot, our figure, with its 95 % interval over seeds where there is "
    "chance."
)

PAGE_STYLE = """
body { max-width: 96rem; }
.known { color: #a16207; }
fieldset { border: 1px solid var(--line); border-radius: 10px; margin: 1rem 0; }
fieldset label { margin-right: 1.2rem; white-space: nowrap; }
td svg { display: block; width: 11rem; height: 1.6rem; overflow: visible; }
.band { fill: var(--good); opacity: .25; }
.band.expected { fill: #d97706; opacity: .35; }
.paper { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 3 2; }
.ours { fill: var(--bad); }
.ours.in { fill: var(--good); }
.whisker { stroke: var(--ink); stroke-width: 1.5; }
.axis { stroke: var(--line); stroke-width: 1; }
details { margin: .2rem 0; max-width: 16rem; }
details p { margin: .2rem 0; }
"""

# Width and height of the plot of a row, in SVG units.
_WIDTH, _HEIGHT = 176, 24


def experiments_html(
    file: ClaimFile, done: Mapping[str, Sequence[Row]], pictures: Mapping[str, str], *, finished: bool
) -> str:
    """Return the text of the page; `pictures` has SVG text by file name, CHECK.svg.

    The other arguments are those of `document.to_document`.
    """
    every = [row for rows in done.values() for row in rows]
    body = [f"<h1>{escape(file.title)}</h1>"]
    if not finished:
        body.append('<p class="verdict no">Not all checks have run yet.</p>')
    body += [f"<p>{'<br>'.join(escape(line) for line in headline(every))}</p>", *_filters()]
    body.append(f'<p class="soft">{LEGEND}</p>')
    for check in file.checks:
        if rows := done.get(check.name):
            body += _section(check, rows, pictures.get(f"{check.name}.svg"))
    rules = "".join(
        f"body:has(#{group}-{name}:not(:checked)) tr:has(.{name}) {{ display: none; }}\n"
        for group, names in FILTERS.items()
        for name in names
    )
    return html_page(file.title, body, f"{PAGE_STYLE}{rules}")


def _filters() -> Iterator[str]:
    """Yield a block of check boxes for each group of rows."""
    for group, names in FILTERS.items():
        boxes = " ".join(
            f'<label><input type="checkbox" id="{group}-{name}" checked> {words}</label>'
            for name, words in names.items()
        )
        yield f"<fieldset><legend>{group.capitalize()}</legend>{boxes}</fieldset>"


def _section(check: Check, rows: Sequence[Row], picture: str | None) -> list[str]:
    heads = ("claim", "paper", "place", "kind", "holds if", "ours", "", "verdict")
    cells = []
    for row in rows:
        claim = row.claim
        holds = claim.holds.text(claim.unit)
        if claim.expected is not None:
            holds += f"; expected {claim.expected.text(claim.unit)}"
        words = map(escape, (claim.text, says(claim), claim.place))
        kind = f'<span class="{claim.kind}">{claim.kind}</span>'
        verdict = f'<span class="{VERDICTS[row.verdict]}">{row.verdict}</span>{_details(claim)}'
        cells.append((*words, kind, escape(holds), escape(ours(row)), strip_svg(row), verdict))
    parts = [
        f'<h2 id="{check.name}">{escape(check.title)} <span class="soft">{check.name}</span></h2>',
        table(heads, cells, numbers=0),
    ]
    if picture:
        parts.append(f"<figure>{picture}</figure>")
    return parts


def _details(claim: Claim) -> str:
    """Return the claim's reason and mutation as a folded element; empty if the claim has neither."""
    mutation = f"Turned by: {claim.mutation.words}." if claim.mutation else ""
    parts = [f"<p>{escape(words)}</p>" for words in (claim.reason, mutation) if words]
    if not parts:
        return ""
    return f'<details><summary class="soft">why</summary>{"".join(parts)}</details>'


def strip_svg(row: Row) -> str:
    """Return an SVG of a claim's intervals and our value on one axis; empty if there is no finite value."""
    claim, measured = row.claim, row.measured
    if measured is None or not math.isfinite(measured.value):
        return ""
    paper = claim.paper if isinstance(claim.paper, Interval) else None
    intervals = [item for item in (claim.holds, claim.expected, paper) if item is not None]
    ends = [
        measured.value,
        *(end for item in intervals for end in (item.low, item.high) if math.isfinite(end)),
    ]
    ends += [end for end in (measured.low, measured.high) if end is not None]
    low, high = min(ends), max(ends)
    room = 0.15 * (high - low) or 0.5 * abs(high) or 1.0
    low, high = low - room, high + room

    def x(value: float) -> float:
        return round(_WIDTH * (min(max(value, low), high) - low) / (high - low), 1)

    def band(interval: Interval, style: str) -> str:
        left, right = x(interval.low), x(interval.high)
        left, right = (left - 1, right + 1) if right - left < 2 else (left, right)
        return f'<rect class="{style}" x="{left:g}" y="3" width="{right - left:g}" height="18"/>'

    middle = _HEIGHT / 2
    parts = [
        f'<line class="axis" x1="0" y1="{middle:g}" x2="{_WIDTH}" y2="{middle:g}"/>',
        band(claim.holds, "band"),
    ]
    if claim.expected is not None:
        parts.append(band(claim.expected, "band expected"))
    for end in {paper.low, paper.high} if paper else ():
        if math.isfinite(end):
            parts.append(f'<line class="paper" x1="{x(end):g}" y1="0" x2="{x(end):g}" y2="{_HEIGHT}"/>')
    if measured.low is not None and measured.high is not None:
        ends_of = f'x1="{x(measured.low):g}" y1="{middle:g}" x2="{x(measured.high):g}" y2="{middle:g}"'
        parts.append(f'<line class="whisker" {ends_of}/>')
    style = "ours in" if row.verdict == "holds" else "ours"
    parts.append(f'<circle class="{style}" cx="{x(measured.value):g}" cy="{middle:g}" r="4"/>')
    words = escape(f"{claim.text}: {ours(row)}")
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{words}</title>{"".join(parts)}</svg>'
