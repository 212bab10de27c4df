# SPDX-License-Identifier: Apache-2.0
"""Describe reconfigurations of circuits between Pods as SVG and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import cos, pi, sin

from emulation.control.reconfiguration_record import ReconfigurationRecord
from topologies import Fabric
from topologies.model.circuits import circuit_of

__all__ = [
    "CIRCUITS_STYLE",
    "between_pods",
    "circuits_svg",
    "lacks_words",
    "reconfiguration_words",
]

CIRCUITS_STYLE = """
.pod { fill: var(--page); stroke: currentColor; }
.circuit { stroke: #0072b2; stroke-opacity: .55; }
.count, .podname { font: 12px system-ui, sans-serif; fill: currentColor; text-anchor: middle; }
"""

_SIZE, _RADIUS = 300, 105

_WHOLE = "no job lacks circuits any more"


def between_pods(fabric: Fabric, dark: Collection[str] = ()) -> Counter[tuple[int, int]]:
    """Return the number of circuits between each pair of Pods (lower first), without circuits in `dark`."""
    counts: Counter[tuple[int, int]] = Counter()
    for link in fabric.links:
        if link.name not in dark and circuit_of(fabric, link.name) is not None:
            low, high = sorted(fabric.node(end.node).coordinates[-1] for end in (link.a, link.b))
            counts[low, high] += 1
    return counts


def circuits_svg(before: Fabric, after: Fabric, dark: Collection[str] = ()) -> str:
    """Draw the Pods as a ring, before and after a reconfiguration.

    The width and the label of a line between two Pods show the number of circuits. Circuits in `dark` carry
    no light, before and after, and are not counted.
    """
    pods = before.dims[-1]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * _SIZE} {_SIZE}">']
    for left, word, fabric in ((0, "before", before), (_SIZE, "after", after)):
        middle = left + _SIZE / 2
        parts.append(f'<text class="podname" x="{middle:g}" y="16">{word}</text>')
        positions = [_place(pod, pods, middle) for pod in range(pods)]
        for (low, high), count in sorted(between_pods(fabric, dark).items()):
            (ax, ay), (bx, by) = positions[low], positions[high]
            parts.append(
                f'<line class="circuit" x1="{ax:.1f}" y1="{ay:.1f}" x2="{bx:.1f}" y2="{by:.1f}" '
                f'stroke-width="{min(12, 1 + count):g}">'
                f"<title>Pod {low} and Pod {high}: {count} circuits</title></line>"
            )
            # Labels stand away from the middle of the ring, where lines cross.
            x, y = ax + 0.38 * (bx - ax), ay + 0.38 * (by - ay)
            parts.append(f'<text class="count" x="{x:.1f}" y="{y:.1f}">{count}</text>')
        for pod, (x, y) in enumerate(positions):
            parts.append(f'<circle class="pod" cx="{x:.1f}" cy="{y:.1f}" r="15"/>')
            parts.append(f'<text class="podname" x="{x:.1f}" y="{y + 4:.1f}">{pod}</text>')
    return "\n".join([*parts, "</svg>"])


def _place(pod: int, pods: int, middle: float) -> tuple[float, float]:
    turn = 2 * pi * pod / pods - pi / 2
    return middle + _RADIUS * cos(turn), _SIZE / 2 + 10 + _RADIUS * sin(turn)


def reconfiguration_words(change: ReconfigurationRecord) -> str:
    """Return a sentence on a reconfiguration: time, reason, numbers of circuits, jobs that lack circuits."""
    way = "" if change.hitless else "; no route avoided the circuits that moved"
    dark = f"; {len(change.dark)} of them without light" if change.dark else ""
    return (
        f"from {change.at_ps / 10**6:g} to {change.stands_ps / 10**6:g} µs, {change.why}: {len(change.kept)} "
        f"circuits stayed, {len(change.torn)} were removed and {len(change.created)} created{dark}, "
        f"{change.updates} table entries written{way}{''.join(f'; {lack}' for lack in change.lacks)}"
    )


def lacks_words(changes: Sequence[ReconfigurationRecord]) -> list[str]:
    """Return sentences on the jobs that lack circuits after a reconfiguration, and on when the lack ends."""
    sentences: list[str] = []
    for change in changes:
        when = f"from {change.stands_ps / 10**6:g} µs on ({change.why})"
        if change.lacks:
            sentences.append(f"{when} {', '.join(map(str, change.lacks))}")
        elif sentences and not sentences[-1].endswith(_WHOLE):
            sentences.append(f"{when} {_WHOLE}")
    return sentences
