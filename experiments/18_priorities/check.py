# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what each job's iterations took, alone and beside the other.

Exit code 1 when an assertion fails: data is wrong, the job that goes first feels the other, or the other
never ends.
"""

import sys
from pathlib import Path

from papers.checking.statements import say
from railyard.command import result_of

HERE = Path(__file__).parent
ALONE = {"first": "alone", "second": "second-alone"}


def main() -> int:
    code, result = result_of(HERE / "scenario.yaml")
    metrics = result["metrics"]
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
    return say({"all assertions hold": code == 0})


if __name__ == "__main__":
    sys.exit(main())
