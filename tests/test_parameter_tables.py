# SPDX-License-Identifier: Apache-2.0
"""scripts/parameters.py writes tables of guides from the declarations of families and collectives."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_committed_tables_are_current(tmp_path: Path):
    subprocess.run([sys.executable, "scripts/parameters.py", tmp_path], cwd=ROOT, check=True)
    guides = sorted(tmp_path.iterdir())
    assert [guide.name for guide in guides] == ["collectives.md", "topologies.md"]
    for guide in guides:
        committed = ROOT / "docs" / "use" / guide.name
        assert guide.read_text() == committed.read_text(), "run python scripts/parameters.py"
