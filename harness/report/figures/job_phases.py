# SPDX-License-Identifier: Apache-2.0
"""Draw the phases of jobs over time as SVG: a row for each job, computation above communication."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.run.observation.values import JobReport

__all__ = ["MAX_ITERATIONS", "PHASES_STYLE", "phases_svg"]

# Largest number of iterations of a job that is drawn; with more, the bars would merge.
MAX_ITERATIONS = 150

PHASES_STYLE = """
.computes { fill: #009e73; }
.sends { fill: #d55e00; }
.phases text { font: 12px system-ui, sans-serif; fill: currentColor; }
.phases line { stroke: currentColor; stroke-opacity: .4; }
"""

_LEFT, _WIDTH, _ROW, _TOP = 110, 860, 40, 6


def phases_svg(jobs: Sequence[JobReport]) -> str:
    """Draw all jobs with iterations over a common time axis, from the first start to the last drawn end."""
    shown = [job for job in jobs if job.iterations]
    ends = [job.iterations[:MAX_ITERATIONS][-1].end_ps for job in shown]
    first = min((job.begun_ps for job in shown), default=0)
    width = max(ends, default=1) - first or 1
    height = _TOP + _ROW * len(shown) + 24
    box = f"0 0 {_LEFT + _WIDTH + 30} {height}"
    parts = [f'<svg class="phases" xmlns="http://www.w3.org/2000/svg" viewBox="{box}">']

    def at(ps: int) -> float:
        return _LEFT + _WIDTH * (ps - first) / width

    for row, job in enumerate(shown):
        top = _TOP + _ROW * row
        parts.append(f'<text x="0" y="{top + 20}">{escape(job.name)}</text>')
        for number, iteration in enumerate(job.iterations[:MAX_ITERATIONS]):
            spans = (
                ("computes", top, iteration.begun_ps, iteration.begun_ps + job.compute_ps),
                ("sends", top + 15, iteration.send_ps, iteration.sent_ps),
            )
            for kind, y, begin, end in spans:
                if end > begin:
                    parts.append(
                        f'<rect class="{kind}" x="{at(begin):.2f}" y="{y}" width="{at(end) - at(begin):.2f}" '
                        f'height="13"><title>{escape(job.name)}, iteration {number}: {kind} '
                        f"{(end - begin) / 10**6:.3f} µs from {begin / 10**6:.3f} µs</title></rect>"
                    )
    base = _TOP + _ROW * len(shown)
    parts.append(f'<line x1="{_LEFT}" y1="{base}" x2="{_LEFT + _WIDTH}" y2="{base}"/>')
    for share in (0, 0.25, 0.5, 0.75, 1):
        ps = first + round(share * width)
        parts.append(
            f'<text x="{at(ps):.1f}" y="{base + 16}" text-anchor="middle">{ps / 10**6:.4g} µs</text>'
        )
    return "\n".join([*parts, "</svg>"])
