# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, says what is true of it and how long it took to start.

Exit code 1 when data is wrong, when a frame left its rail, or when the start took more than a minute.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MOST_BOOT_SECONDS = 60


def main() -> int:
    program = "from railyard.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", str(HERE / "scenario.yaml"), "--out", folder]
        code = subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode
        metrics = json.loads(Path(folder, "result.json").read_text())["metrics"]
        seconds = json.loads(Path(folder, "timing.json").read_text())["wall_clock_seconds"]["run"]
    right = metrics["run.correct_npus"] == 64 and not metrics["run.cross_rail_frames"]
    print(f"started with {metrics['run.table_entries']:,} table entries in {seconds['boot']:.1f} s")
    print(f"the All-to-All took {metrics['run.completion_us']:.2f} us, in {seconds['run']:.1f} s here")
    print(f"all assertions hold: {'yes' if code == 0 else 'no'}")
    print(f"right data at 64 GPUs, and no frame left its rail: {'yes' if right else 'no'}")
    soon = seconds["boot"] <= MOST_BOOT_SECONDS
    print(f"started within {MOST_BOOT_SECONDS} s: {'yes' if soon else 'no, on this machine'}")
    return 0 if code == 0 and right and soon else 1


if __name__ == "__main__":
    sys.exit(main())
