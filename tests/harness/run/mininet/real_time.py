# SPDX-License-Identifier: Apache-2.0
"""A scenario on Mininet beside the same on the embedded testbed, for tests of either fabric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.report.measurement.metrics import measure
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load
from tests.emulation.mininet.commands import Machine, railyard

# In virtual or real time, the same.
SAME = ("npus", "correct_npus", "sent_frames", "received_frames", "result_crc32", "table_entries")

Figures = dict[str, int | float]


def result_on_mininet(folder: Path, kind: str, scenario: str) -> dict[str, Any]:
    """Run a scenario whose assertions hold, leave nothing behind, and return its result."""
    machine = Machine(folder)
    file = folder / "scenario.yaml"
    file.write_text(scenario)
    code, said, err = railyard(folder, "run", file, "--testbed", "mininet", "--switch", kind, "--out", "out")
    assert code == 0, said + err
    left = machine.left()
    assert left == [], left
    return json.loads((folder / "out" / "result.json").read_text())


def on_mininet(folder: Path, kind: str, scenario: str) -> dict[str, Figures]:
    """Figures by variant. Asserts that what time cannot change is the same on the embedded testbed."""
    figures = result_on_mininet(folder, kind, scenario)["metrics"]
    result = {}
    for variant, variant_run in run(prepare(*load(folder / "scenario.yaml")), 1).runs.items():
        embedded = measure(variant_run)
        there = result[variant] = {name: figures[f"{variant}.{name}"] for name in embedded}
        assert {name: there[name] for name in SAME} == {name: embedded[name] for name in SAME}
    return result
