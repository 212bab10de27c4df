# SPDX-License-Identifier: Apache-2.0
"""Iterations of a job over time, and levels of jobs that share links."""

from __future__ import annotations

import numpy as np

from controller.jobs import compress, contention
from emulation.traffic.host.iterations import IterationProfile
from scripts.pictures.svg import Box, picture, stroke, text

__all__ = ["iterations", "levels"]


def iterations() -> str:
    """Draw two iterations of a job whose collective is hidden by computation, and of one whose is not."""
    profile = IterationProfile(iterations=2, compute_ps=40, overlap_ps=20)
    scale, left = 4.4, 160.0
    parts: list[str] = []
    for row, sends in enumerate((15, 30)):
        y = 24.0 + 92 * row
        period = profile.least_ps(sends) // profile.iterations
        parts.append(text(10, y + 16, f"collective of {sends} µs", "title left"))
        parts.append(text(10, y + 34, f"{period} µs an iteration", "small left"))
        for number in range(profile.iterations):
            begin = left + scale * period * number
            parts += Box(begin, y, scale * profile.compute_ps, 24, ("computes",)).svg()
            start = begin + scale * profile.before_ps
            parts += Box(start, y + 28, scale * sends, 24, ("sends",), "lost").svg()
            end = begin + scale * period
            parts.append(stroke(f"M{end:g} {y - 6:g}V{y + 60:g}", "faint dashed"))
    parts.append(
        text(
            left,
            208,
            "40 µs of computation in each iteration; the last 20 µs overlap the collective",
            "small left",
        )
    )
    return picture(left + scale * 2 * 50 + 20, 220, "Iterations of two jobs over time", parts)


def levels() -> str:
    """Draw four jobs on two links, and the two levels that compression gives to them."""
    uses = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], bool)
    intensity = np.array([4.0, 3.0, 2.0, 1.0])
    graph = contention(uses, np.arange(len(uses)), intensity)
    level = compress(graph, 2).tolist()
    parts = [
        text(60, 18, "priority", "title"),
        text(210, 18, "link", "title"),
        text(360, 18, "level", "title"),
    ]
    for job, links in enumerate(uses):
        y = 30 + 48 * job
        parts += Box(10, y, 110, 34, (f"job {job}", f"intensity {intensity[job]:g}")).svg()
        link = int(np.flatnonzero(links)[0])
        middle = 30 + 48 * (2 * link) + 24 + 17
        parts.append(stroke(f"M120 {y + 17:g}L170 {middle:g}", "faint"))
        style = "box" if level[job] == 0 else "lost"
        parts += Box(
            310, y, 100, 34, (f"level {level[job]}", "first" if level[job] == 0 else "second"), style
        ).svg()
    for link in range(uses.shape[1]):
        middle = 30 + 48 * (2 * link) + 24 + 17
        parts += Box(170, middle - 17, 80, 34, (f"link {link}",), "quiet").svg()
    return picture(420, 30 + 48 * len(uses), "Jobs on two links, compressed to two levels", parts)
