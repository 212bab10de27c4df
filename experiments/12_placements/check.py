# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what is true of it; exit code 1 when something is not."""

import re
import sys
import tempfile
from pathlib import Path

from papers.checking.statements import say
from railyard.command import result_of

HERE = Path(__file__).parent
PLACEMENTS = ("tp8-pp2-dp4", "tp8-pp4-dp2")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        code, result = result_of(HERE / "scenario.yaml", folder=Path(folder))
        report = Path(folder, "report.html").read_text()
    for words in re.findall(r"[^>]*ordered pairs[^<]*", report):
        print(words.strip())
    crossed = {name: result["metrics"][f"{name}.cross_rail_frames"] for name in (*PLACEMENTS, "experts")}
    for name, frames in crossed.items():
        print(f"{name}: {frames:,} frames went from rail to rail, by the switches' counters")
    stays = not any(crossed[name] for name in PLACEMENTS)
    return say(
        {
            "all assertions hold": code == 0,
            "training stays on its rails, and the counters see what does not": stays
            and crossed["experts"] > 0,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
