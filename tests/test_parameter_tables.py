# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/topologies.md are what scripts/parameters.py writes from the families' declarations."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_committed_tables_are_current(tmp_path: Path):
    written = tmp_path / "topologies.md"
    subprocess.run([sys.executable, "scripts/parameters.py", written], cwd=ROOT, check=True)
    assert written.read_text() == (ROOT / "docs" / "topologies.md").read_text(), (
        "run python scripts/parameters.py"
    )
