# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what is true of it; exit code 1 when something is not."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PLACEMENTS = ("tp8-pp2-dp4", "tp8-pp4-dp2")


def main() -> int:
    program = "from railyard.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", str(HERE / "scenario.yaml"), "--out", folder]
        code = subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode
        metrics = json.loads(Path(folder, "result.json").read_text())["metrics"]
        report = Path(folder, "report.html").read_text()
    for words in re.findall(r"[^>]*ordered pairs[^<]*", report):
        print(words.strip())
    crossed = {name: metrics[f"{name}.cross_rail_frames"] for name in (*PLACEMENTS, "experts")}
    for name, frames in crossed.items():
        print(f"{name}: {frames:,} frames went from rail to rail, by the switches' counters")
    stays = not any(crossed[name] for name in PLACEMENTS)
    print(f"all assertions hold: {'yes' if code == 0 else 'no'}")
    print(f"training stays on its rails, and the counters see what does not: {'yes' if stays else 'no'}")
    return 0 if code == 0 and stays and crossed["experts"] else 1


if __name__ == "__main__":
    sys.exit(main())
