# SPDX-License-Identifier: Apache-2.0
"""Comparison of task completion in Railyard and in another simulator: a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from papers.checking.statements import heading

__all__ = ["Times", "draw_completion", "ended_operations", "table_of_completion"]

_POINTS = 200  # approximate number of points of a curve

Times = Mapping[str, float]
"""Completion times in microseconds, by name of the task."""

Cases = Mapping[str, tuple[Times, Times]]
"""Completion times in Railyard and in the other simulator, by name of the case."""


def ended_operations(result: Mapping[str, Any]) -> Times:
    """Return the end of each operation of the variant `run`, in µs, by name; infinity if it has not ended."""
    return {
        operation["id"]: float("inf") if operation["end_us"] is None else operation["end_us"]
        for operation in result.get("operations", {}).get("run", [])
    }


def table_of_completion(cases: Cases) -> Iterator[str]:
    """Yield the lines of a table of last and median completions; the other simulator may lack some tasks."""
    times = ("last here, µs", "last there, µs", "ratio", "median here, µs", "median there, µs")
    yield heading("case", "tasks", "ended there", *times)
    for name, (ours, theirs) in cases.items():
        own, other = sorted(ours.values()), sorted(theirs.values())
        yield (
            f"| {name} | {len(own):,} | {len(other):,} | {own[-1]:,.2f} | {other[-1]:,.2f} | "
            f"{own[-1] / other[-1]:.3f} | {own[len(own) // 2]:,.2f} | {other[len(other) // 2]:,.2f} |"
        )


def draw_completion(picture: Path, cases: Cases, other: str) -> None:
    """Draw the share of completed tasks over time, a panel for each case.

    Args:
        picture: file to write.
        cases: completion times of each case; Railyard's tasks are all tasks.
        other: name of the other simulator.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(5.6, 4.2 * len(cases)), 3.4), layout="constrained")
    for panel, (name, (ours, theirs)) in zip(
        figure.subplots(1, len(cases), squeeze=False)[0], cases.items(), strict=True
    ):
        for times, label, style in ((ours, "Railyard", "-"), (theirs, other, "--")):
            ordered = sorted(times.values())
            step = max(1, len(ordered) // _POINTS)
            positions = [*range(0, len(ordered), step), len(ordered) - 1]
            shares = [(position + 1) / len(ours) for position in positions]
            panel.step(
                [ordered[position] for position in positions], shares, style, where="post", label=label
            )
        panel.set(
            title=f"{name}, {len(ours):,} tasks",
            xlabel="completion, µs",
            ylabel="share of all tasks",
            ylim=(0, 1.02),
            xlim=(0, None),
        )
        panel.legend(loc="upper left")
    with rc_context({"svg.hashsalt": "32"}):
        figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)
