"""The figures as JSON, and as a table and a plot in the performance guide."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from bench.figures import Comparison, Series, machine
from bench.lab_report import PICTURE, LabResult, lab_document, lab_text

__all__ = ["GUIDE", "Result", "write_guide", "write_json", "write_lab_guide", "write_lab_json"]

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "testbeds" / "performance.md"
PICTURES = GUIDE.parents[1] / "images"
PLOT = PICTURES / "performance.svg"
BEGIN, END = "<!-- written by `make bench`: from here -->", "<!-- to here -->"
LAB_BEGIN, LAB_END = "<!-- the lab, written by `make bench`: from here -->", "<!-- the lab: to here -->"
LAB = "lab"
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
    results = {
        "machine": machine(),
        "python": platform.python_version(),
        "bmv2": result.bmv2_version or None,
        "rounds": result.rounds,
        "figures": {comparison.name: comparison.as_json() for comparison in result.comparisons},
        "profile_ns": dict(zip(PARTS, (item.as_json() for item in result.profile), strict=True)),
        "floor_ns": result.floor.as_json(),
        "notes": dict(result.notes),
    }
    before = _read(path)
    _write(path, results | ({LAB: before[LAB]} if LAB in before else {}))


def write_lab_json(result: LabResult, path: Path) -> None:
    """Beside the other figures of the file, if there are any."""
    _write(path, _read(path) | {LAB: lab_document(result)})


def _read(path: Path) -> dict[str, object]:
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path: Path, result: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")


def _table(result: Result) -> str:
    today = datetime.now(UTC).date().isoformat()
    bmv2 = f"BMv2 {result.bmv2_version}" if result.bmv2_version else "BMv2 not installed"
    lines = [
        f"Measured on {today}: {machine()}; Python {sys.version.split()[0]}; {bmv2}.",
        f"Median of {result.rounds} rounds, built-in switch and BMv2 in turn; brackets: minimum and maximum.",
        "",
        "| | built-in switch | BMv2 | ratio | target |",
        "|---|---:|---:|---:|---:|",
        *(comparison.row() for comparison in result.comparisons),
        "",
        *(f"{text}\n" for text in result.notes.values()),
        "Processor time of a hop in process, for a frame of 100 bytes:",
        "",
        "| part | nanoseconds |",
        "|---|---:|",
        *(f"| {part} | {series} |" for part, series in zip(PARTS, result.profile, strict=True)),
        f"| in all, for a program that only copies the frame from port to port | {result.floor} |",
    ]
    return "\n".join(lines)


def write_guide(result: Result) -> None:
    """Between the marks of the guide; the rest of it stays."""
    GUIDE.write_text(between(GUIDE.read_text(), BEGIN, END, _table(result)))
    _plot([comparison for comparison in result.comparisons if comparison.ratio is not None])


def write_lab_guide(result: LabResult, picture: Path) -> None:
    """Between the lab's marks, and the picture among the guide's."""
    GUIDE.write_text(between(GUIDE.read_text(), LAB_BEGIN, LAB_END, lab_text(result)))
    shutil.copyfile(picture, PICTURES / PICTURE)


def between(text: str, begin: str, end: str, new: str) -> str:
    """Return the text with `new` between the two marks."""
    before, _, rest = text.partition(begin)
    _, result, after = rest.partition(end)
    if not result:
        raise RuntimeError(f"{GUIDE} lacks the marks {begin!r} and {end!r}")
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


def _plot(comparisons: Sequence[Comparison]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "railyard"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 0.42 * len(comparisons) + 1.1), layout="constrained")
    ratios = [comparison.ratio or 0.0 for comparison in comparisons]
    axes.barh(range(len(ratios)), ratios, color="#0072b2", height=0.6)
    for place, item in enumerate(comparisons):
        if item.target is not None:
            axes.plot([item.target] * 2, [place - 0.4, place + 0.4], color="#d55e00", linewidth=2)
        axes.annotate(
            f"{ratios[place]:.1f}", (ratios[place], place), (4, 0), textcoords="offset points", va="center"
        )
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(ratios)), [comparison.name for comparison in comparisons])
    axes.invert_yaxis()
    axes.set_xlabel("times better than BMv2 (logarithmic); the mark is the target")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PLOT, metadata={"Date": None})
    pyplot.close(figure)
