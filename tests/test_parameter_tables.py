# SPDX-License-Identifier: Apache-2.0
"""scripts/parameters.py writes the tables of docs/use/topologies.md from the families' declarations."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_committed_tables_are_current(tmp_path: Path):
    written = tmp_path / "topologies.md"
    subprocess.run([sys.executable, "scripts/parameters.py", written], cwd=ROOT, check=True)
    assert written.read_text() == (ROOT / "docs" / "use" / "topologies.md").read_text(), (
        "run python scripts/parameters.py"
    )
