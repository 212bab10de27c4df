"""The figures as JSON, and as a table and a plot in the performance guide."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from bench.figures import Comparison, Series, machine

__all__ = ["GUIDE", "Result", "write_guide", "write_json"]

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
PLOT = GUIDE.parent / "images" / "performance.svg"
BEGIN, END = "<!-- written by `make bench`: from here -->", "<!-- to here -->"
PARTS = ("copy the frame", "parser", "ingress", "egress", "deparser")


@final
@dataclass(frozen=True, slots=True)
class Result:
    """`profile`: nanoseconds of one hop by PARTS; `floor`: of a program that only copies the frame."""

    rounds: int
    bmv2_version: str
    comparisons: Sequence[Comparison]
    profile: Sequence[Series]
    floor: Series
    notes: Mapping[str, str]


def write_json(result: Result, path: Path) -> None:
    found = {
        "machine": machine(),
        "python": platform.python_version(),
        "bmv2": result.bmv2_version or None,
        "rounds": result.rounds,
        "figures": {one.name: one.as_json() for one in result.comparisons},
        "profile_ns": dict(zip(PARTS, (one.as_json() for one in result.profile), strict=True)),
        "floor_ns": result.floor.as_json(),
        "notes": dict(result.notes),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2) + "\n")


def _table(result: Result) -> str:
    today = datetime.now(UTC).date().isoformat()
    bmv2 = f"BMv2 {result.bmv2_version}" if result.bmv2_version else "BMv2 not installed"
    lines = [
        f"Measured on {today}: {machine()}; Python {sys.version.split()[0]}; {bmv2}.",
        f"Median of {result.rounds} rounds, ours and BMv2's in turn; in brackets the least and the most.",
        "",
        "| | built-in switch | BMv2 | ratio | target |",
        "|---|---:|---:|---:|---:|",
        *(one.row() for one in result.comparisons),
        "",
        *(f"{text}\n" for text in result.notes.values()),
        "Where the time of one hop in process goes, of a frame of 100 bytes:",
        "",
        "| part | nanoseconds |",
        "|---|---:|",
        *(f"| {part} | {series} |" for part, series in zip(PARTS, result.profile, strict=True)),
        f"| a program that only copies the frame from port to port, whole | {result.floor} |",
        "",
        "![Ratios to BMv2](images/performance.svg)",
    ]
    return "\n".join(lines)


def write_guide(result: Result) -> None:
    """Between the marks of the guide; the rest of it stays."""
    text = GUIDE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or END not in text:
        raise RuntimeError(f"{GUIDE} lacks the marks {BEGIN!r} and {END!r}")
    GUIDE.write_text(f"{before}{BEGIN}\n\n{_table(result)}\n\n{END}{after}")
    _plot([one for one in result.comparisons if one.ratio is not None])


def _plot(comparisons: Sequence[Comparison]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "railyard"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 0.42 * len(comparisons) + 1.1), layout="constrained")
    ratios = [one.ratio or 0.0 for one in comparisons]
    axes.barh(range(len(ratios)), ratios, color="#0072b2", height=0.6)
    for place, one in enumerate(comparisons):
        if one.target is not None:
            axes.plot([one.target] * 2, [place - 0.4, place + 0.4], color="#d55e00", linewidth=2)
        axes.annotate(
            f"{ratios[place]:.1f}", (ratios[place], place), (4, 0), textcoords="offset points", va="center"
        )
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(ratios)), [one.name for one in comparisons])
    axes.invert_yaxis()
    axes.set_xlabel("times better than BMv2 (logarithmic); the mark is the target")
    axes.spines[["top", "right"]].set_visible(False)
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})
    pyplot.close(figure)
