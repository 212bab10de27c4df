# SPDX-License-Identifier: Apache-2.0
"""Page experiments.html: tables of claims with a plot in each row, and filters by kind and verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from harness.report.markup import html_page
from papers.claims.check import Check, Row, headline, ours, says
from papers.claims.claim import Claim, Interval, Kind, Verdict

__all__ = ["experiments_html", "strip_svg"]

VERDICTS: Mapping[Verdict, str] = {
    "holds": "yes",
    "known difference": "known",
    "unexpected": "no",
}

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
    title: str,
    done: Mapping[str, Sequence[Row]],
    checks: Sequence[Check],
    pictures: Mapping[str, str],
    *,
    finished: bool,
) -> str:
    """Return the text of the page.

    Args:
        title: title of the paper.
        done: rows of the checks that have run, by name of the check.
        checks: all checks of the paper, in order.
        pictures: SVG text by file name, CHECK.svg.
        finished: False while requested checks have still to run.
    """
    every = [row for rows in done.values() for row in rows]
    body = [f"<h1>{escape(title)}</h1>"]
    if not finished:
        body.append('<p class="verdict no">Not all checks have run yet.</p>')
    body += [f"<p>{'<br>'.join(escape(line) for line in headline(every))}</p>", _filters(), _legend()]
    for check in checks:
        if rows := done.get(check.name):
            body += _section(check, rows, pictures.get(f"{check.name}.svg"))
    rules = "".join(
        f"body:has(#{name}:not(:checked)) tr.{name} {{ display: none; }}\n"
        for name in (*(f"kind-{kind}" for kind in Kind), *(_slug(verdict) for verdict in VERDICTS))
    )
    return html_page(title, body, f"{PAGE_STYLE}{rules}")


def _slug(verdict: Verdict) -> str:
    return f"verdict-{verdict.replace(' ', '-')}"


def _filters() -> str:
    def boxes(names: Mapping[str, str]) -> str:
        return " ".join(
            f'<label><input type="checkbox" id="{name}" checked> {escape(words)}</label>'
            for name, words in names.items()
        )

    kinds = boxes({f"kind-{kind}": str(kind) for kind in Kind})
    verdicts = boxes({_slug(verdict): verdict for verdict in VERDICTS})
    return (
        f"<fieldset><legend>Kind</legend>{kinds}</fieldset>"
        f"<fieldset><legend>Verdict</legend>{verdicts}</fieldset>"
    )


def _legend() -> str:
    return (
        '<p class="soft">Plot of a row: green band, where the claim holds; amber band, where a known '
        "difference is expected; dashed line, the paper's figure; dot, our figure, with its 95 % interval "
        "over seeds where there is chance.</p>"
    )


def _section(check: Check, rows: Sequence[Row], picture: str | None) -> list[str]:
    heads = ("claim", "paper", "place", "kind", "holds if", "ours", "", "verdict")
    lines = []
    for row in rows:
        claim = row.claim
        holds = claim.holds.text(claim.unit)
        if claim.expected is not None:
            holds += f"; expected {claim.expected.text(claim.unit)}"
        verdict = f'<span class="{VERDICTS[row.verdict]}">{row.verdict}</span>'
        verdict += _details(claim)
        words = (claim.text, says(claim), claim.place, claim.kind.value, holds, ours(row))
        cells = "".join(f"<td>{escape(word)}</td>" for word in words)
        lines.append(
            f'<tr class="kind-{claim.kind} {_slug(row.verdict)}">{cells}'
            f"<td>{strip_svg(row)}</td><td>{verdict}</td></tr>"
        )
    table = "".join(f"<th>{head}</th>" for head in heads)
    parts = [
        f'<h2 id="{check.name}">{escape(check.title)} <span class="soft">{check.name}</span></h2>',
        f'<div class="scroll"><table><tr>{table}</tr>',
        *lines,
        "</table></div>",
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
