# SPDX-License-Identifier: Apache-2.0
"""The guides' committed pictures are what scripts/pictures draws."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"


def test_committed_pictures_are_current(tmp_path: Path):
    command = [sys.executable, "-m", "scripts.pictures", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert drawn
    stale = [path.name for path in drawn if path.read_bytes() != (IMAGES / path.name).read_bytes()]
    assert stale == [], "run python -m scripts.pictures"


def test_every_picture_is_shown_by_a_guide():
    guides = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/*/*.md")]
    text = "".join(guide.read_text() for guide in guides)
    shown = {Path(name).name for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)}
    assert sorted(path.name for path in IMAGES.glob("*.svg") if path.name not in shown) == []
