# SPDX-License-Identifier: Apache-2.0
"""Draw the operations of traffic graphs over time as SVG: a row for each member, a line for each send."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.report.figures.plot import colour
from harness.run.observation.values import OperationReport

__all__ = ["MAX_MEMBERS", "MAX_OPERATIONS", "OPERATIONS_STYLE", "operations_svg"]

# Largest numbers of operations and of members that are drawn; more would be unreadable.
MAX_OPERATIONS, MAX_MEMBERS = 2000, 64

OPERATIONS_STYLE = """
.operations text { font: 12px system-ui, sans-serif; fill: currentColor; }
.operations .row { stroke: currentColor; stroke-opacity: .25; }
.operations .message { fill: none; stroke-width: 1.6; }
.operations .work { fill-opacity: .55; }
"""

_LEFT, _WIDTH, _TOP = 90, 860, 14


def operations_svg(operations: Sequence[OperationReport]) -> str:
    """Draw sends as lines from the source's row to the target's, computations as bars; a colour per job."""
    members = list(dict.fromkeys(name for operation in operations for name in operation.members))[
        :MAX_MEMBERS
    ]
    rows = {name: number for number, name in enumerate(members)}
    ended = [op for op in operations if op.begin_ps is not None and op.end_ps is not None]
    drawn = [op for op in ended if {*op.members} <= {*rows}][:MAX_OPERATIONS]
    jobs = {name: number for number, name in enumerate(dict.fromkeys(op.job for op in operations))}
    first = min((op.begin_ps or 0 for op in drawn), default=0)
    width = max((op.end_ps or 0 for op in drawn), default=1) - first or 1
    each = 34 if len(members) <= 16 else 18
    height = _TOP + each * len(members) + 26
    box = f"0 0 {_LEFT + _WIDTH + 30} {height}"

    def x(ps: int | None) -> float:
        return _LEFT + _WIDTH * ((ps or 0) - first) / width

    def y(name: str) -> float:
        return _TOP + each * rows[name] + each / 2

    parts = [f'<svg class="operations" xmlns="http://www.w3.org/2000/svg" viewBox="{box}">']
    for name in members:
        parts.append(f'<text x="0" y="{y(name) + 4:.1f}">{escape(name)}</text>')
        parts.append(
            f'<line class="row" x1="{_LEFT}" y1="{y(name):.1f}" x2="{_LEFT + _WIDTH}" y2="{y(name):.1f}"/>'
        )
    for op in drawn:
        shade = colour(jobs[op.job])
        words = f"{op.id}: {op.kind}" + (f" of {op.size:,} bytes" if op.size else "")
        words += f", {(op.begin_ps or 0) / 10**6:.3f} to {(op.end_ps or 0) / 10**6:.3f} µs"
        title = f"<title>{escape(op.job)} {escape(words)}</title>"
        begin, end = x(op.begin_ps), x(op.end_ps)
        if op.kind == "send":
            parts.append(
                f'<line class="message" stroke="{shade}" x1="{begin:.2f}" y1="{y(op.members[0]):.1f}" '
                f'x2="{end:.2f}" y2="{y(op.members[1]):.1f}">{title}</line>'
                f'<circle cx="{end:.2f}" cy="{y(op.members[1]):.1f}" r="2.4" fill="{shade}"/>'
            )
        elif op.kind == "compute":
            parts.append(
                f'<rect class="work" fill="{shade}" x="{begin:.2f}" y="{y(op.members[0]) - 5:.1f}" '
                f'width="{max(end - begin, 0.5):.2f}" height="10">{title}</rect>'
            )
    base = _TOP + each * len(members)
    for share in (0, 0.25, 0.5, 0.75, 1):
        ps = first + round(share * width)
        parts.append(f'<text x="{x(ps):.1f}" y="{base + 18}" text-anchor="middle">{ps / 10**6:.4g} µs</text>')
    return "\n".join([*parts, "</svg>"])
