# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what moved and what that did to the jobs.

Exit code 1 when data is wrong, when the running job lost a frame, or when circuits that follow are no faster.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    program = "from lab.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", str(HERE / "scenario.yaml"), "--out", folder]
        code = subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode
        result = json.loads(Path(folder, "result.json").read_text())
    for change in result["rewired"]["follow"]:
        kept, torn, made = (len(change[key]) for key in ("kept", "torn", "made"))
        when = f"{change['at_us']:g} to {change['stands_us']:g} us"
        print(f"{when}: {kept} circuits stayed, {torn} went, {made} came")
    metrics = result["metrics"]
    for job in ("first", "second"):
        built, own = (metrics[f"{variant}.{job}.completion_us"] for variant in ("as-built", "follow"))
        print(f"{job} job: {built:.1f} us on circuits as built, {own:.1f} us on those that follow it")
    again = metrics["follow.first.retransmitted_frames"]
    print(f"frames that the running job sent twice: {again}")
    print(f"all assertions hold: {'yes' if code == 0 else 'no'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
