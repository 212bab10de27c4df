# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, says what is true of it and how long it took to start.

Exit code 1 when data is wrong, when a frame left its rail, or when the start took more than a minute.
"""

import json
import sys
import tempfile
from pathlib import Path

from papers.checking.statements import say
from railyard.command import result_of

HERE = Path(__file__).parent
MOST_BOOT_SECONDS = 60


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        code, result = result_of(HERE / "scenario.yaml", folder=Path(folder))
        seconds = json.loads(Path(folder, "timing.json").read_text())["wall_clock_seconds"]["run"]
    metrics = result["metrics"]
    right = metrics["run.correct_npus"] == 64 and not metrics["run.cross_rail_frames"]
    print(f"started with {metrics['run.table_entries']:,} table entries in {seconds['boot']:.1f} s")
    print(f"the All-to-All took {metrics['run.completion_us']:.2f} us, in {seconds['run']:.1f} s here")
    return say(
        {
            "all assertions hold": code == 0,
            "right data at 64 GPUs, and no frame left its rail": right,
            f"started within {MOST_BOOT_SECONDS} s on this machine": seconds["boot"] <= MOST_BOOT_SECONDS,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
