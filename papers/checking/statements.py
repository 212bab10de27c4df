# SPDX-License-Identifier: Apache-2.0
"""Statements about results and figures of them, printed by the check of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["TRAFFIC", "metrics_table", "say", "spread"]

TRAFFIC = ("correct_npus", "completion_us", "sent_frames", "retransmitted_frames", "lost_frames")
"""Metrics of a run with failures: NPUs with the right array, time, and frames sent, sent again and lost."""


def metrics_table(metrics: Mapping[str, float], names: Iterable[str], variants: Sequence[str]) -> str:
    """Return metrics of a result by name and variant as a Markdown table, empty where there is none."""
    lines = ["| | " + " | ".join(variants) + " |", "|---|" + "---:|" * len(variants)]
    for name in names:
        cells = (metrics.get(f"{variant}.{name}") for variant in variants)
        lines.append(
            f"| `{name}` | " + " | ".join("" if cell is None else f"{cell:,}" for cell in cells) + " |"
        )
    return "\n".join(lines)


def say(checks: Mapping[str, bool]) -> int:
    """Print what is true and what is not; return the exit code, 1 when something is not true."""
    for text, holds in checks.items():
        print(f"{text}: {'yes' if holds else 'NO'}")
    return 0 if all(checks.values()) else 1


def spread(what: str, counts: Sequence[int]) -> tuple[float, float]:
    """Print how evenly frames are spread; return the least and the largest count as shares of the mean."""
    mean = sum(counts) / len(counts)
    least, most = min(counts) / mean, max(counts) / mean
    print(f"{len(counts)} {what}, {mean:,.1f} frames each, {least:.3f} to {most:.3f} of that")
    return least, most
