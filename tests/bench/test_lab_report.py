# SPDX-License-Identifier: Apache-2.0
"""The lab's part of the performance guide: what it says, and that it leaves the other part alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench import report
from bench.figures import Series
from bench.lab_report import PICTURE, STARTS, LabResult, lab_text

VIRTUAL = {
    "npus": 8,
    "correct_npus": 8,
    "completion_us": 3.25,
    "bound_us": 2.949,
    "data_frames": 3584,
    "retransmitted_frames": 0,
    "wall_seconds": 0.5,
}
REAL = VIRTUAL | {
    "completion_us": 3.0,
    "dilation": 12_000_000,
    "real_seconds": 36.1,
    "cpu_busy": 0.31,
    "trustworthy": False,
    "reasons": ["a frame left late"],
    "passes_a_second": 1936.0,
    "agent_us_a_frame": 130.0,
    "switch_us_a_pass": 207.0,
    "rest_us_a_pass": 30.0,
}
START = dict.fromkeys((*STARTS.values(), "interfaces", "entries"), Series([1.0, 2.0, 4.0]))


@pytest.fixture
def result() -> LabResult:
    runs = {"embedded": {"healthy": VIRTUAL}, "builtin": {"healthy": REAL}, "bmv2": {"healthy": REAL}}
    return LabResult("rack", "1.15.5", {"builtin": START, "bmv2": START}, runs)


def test_the_tables_have_a_cell_for_every_testbed(result: LabResult):
    lines = lab_text(result).splitlines()
    assert "| **start, all of it, s** | 2 (1 to 4) | 2 (1 to 4) |" in lines
    assert "| NPUs with the right array | 8 of 8 | 8 of 8 | 8 of 8 |" in lines
    assert "| completion, µs of the scenario; bound 2.949 | 3.250 | 3.000 | 3.000 |" in lines
    assert "| dilation |  | 12,000,000 | 12,000,000 |" in lines
    assert "| times trustworthy |  | no | no |" in lines
    assert "Mininet, BMv2, healthy: a frame left late." in lines
    assert "| switch processes, µs a frame through a switch | 207 | 207 |" in lines


def test_one_part_is_written_and_the_other_stays(
    result: LabResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    guide, picture = tmp_path / "performance.md", tmp_path / "picture.svg"
    picture.write_text("<svg/>")
    guide.write_text(
        f"before\n{report.BEGIN}\n\nthe switch\n\n{report.END}\nbetween\n"
        f"{report.LAB_BEGIN}\n\nold\n\n{report.LAB_END}\nafter\n"
    )
    monkeypatch.setattr(report, "GUIDE", guide)
    monkeypatch.setattr(report, "PICTURES", tmp_path)
    report.write_lab_guide(result, picture)
    text = guide.read_text()
    assert text.startswith(f"before\n{report.BEGIN}\n\nthe switch\n\n{report.END}\nbetween\n")
    assert text.endswith(f"\n\n{report.LAB_END}\nafter\n")
    assert "old" not in text
    assert (tmp_path / "lab-rack.svg").read_text() == "<svg/>"

    figures = tmp_path / "bench.json"
    figures.write_text('{"figures": {"a": 1}}')
    report.write_lab_json(result, figures)
    results = json.loads(figures.read_text())
    assert results["figures"] == {"a": 1}
    assert results["lab"]["runs"]["bmv2"]["healthy"]["dilation"] == 12_000_000
    assert results["lab"]["starts"]["builtin"]["start"] == {"median": 2.0, "least": 1.0, "most": 4.0}


def test_a_guide_without_the_marks_is_an_error():
    with pytest.raises(RuntimeError, match="lacks the marks"):
        report.between("nothing here", report.LAB_BEGIN, report.LAB_END, "text")


def test_the_picture_of_the_guide_is_where_the_benchmark_writes_it(result: LabResult) -> None:
    (link,) = re.findall(r"!\[.*\]\((.*)\)", lab_text(result))
    assert (report.GUIDE.parent / link).resolve() == report.PICTURES / PICTURE
