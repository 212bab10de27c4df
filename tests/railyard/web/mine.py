# SPDX-License-Identifier: Apache-2.0
"""The scenario of the tutorial with a healthy variant and a cut one, and its recording."""

from __future__ import annotations

from pathlib import Path

from harness.recording.file import RecordingWriter
from harness.recording.recorder import Recorder
from harness.scenario.loader import load
from railyard.api.scenarios import execute

__all__ = ["CUT_PS", "MINE", "recorded"]

MINE = """
name: mine
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 65536}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
transport: {initial_rto_us: 10, min_rto_us: 5}
variants:
  - {name: healthy}
  - name: cut
    faults: [{at_us: 1, link: npu0-npu1}]
"""

CUT_PS = 1_000_000


def recorded(folder: Path) -> Path:
    """Run the scenario, and return a folder with its file and its recording."""
    (folder / "mine.yaml").write_text(MINE)
    with RecordingWriter(folder / "run.recording") as write:
        execute(*load(folder / "mine.yaml"), None, watcher=Recorder([write], None))
    return folder
