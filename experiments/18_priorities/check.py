# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what each job's iterations took, alone and beside the other.

Exit code 1 when an assertion fails: data is wrong, the job that goes first feels the other, or the other
never ends.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ALONE = {"first": "alone", "second": "second-alone"}


def main() -> int:
    program = "from railyard.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", str(HERE / "scenario.yaml"), "--out", folder]
        code = subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode
        metrics = json.loads(Path(folder, "result.json").read_text())["metrics"]
    for variant in ("one-class", "two-classes", "turned", "crux"):
        for job, without in ALONE.items():
            took, alone = (metrics[f"{name}.{job}.iteration_us"] for name in (variant, without))
            again = metrics[f"{variant}.{job}.retransmitted_frames"]
            print(
                f"{variant}, {job}: {took:.3f} us an iteration, {alone:.3f} us alone: "
                f"{took / alone - 1:+.2%}, {again} frames sent again"
            )
        print(
            f"{variant}: accelerators computed {metrics[f'{variant}.work_percent']:.1f} % of the first 300 us"
        )
    print(f"all assertions hold: {'yes' if code == 0 else 'no'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
