# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what is true of it; exit code 1 when something is not.

With --all every NPU and every switch fails in turn, too.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from papers.checking.statements import metrics_table
from railyard.command import result_of, sweep_of

HERE = Path(__file__).parent
SHOWN = (
    "completion_us",
    "correct_npus",
    "sent_frames",
    "takeover_us",
    "spare_transit_frames",
    "entries_rewritten",
)
VARIANTS = ("healthy", "npu", "switch")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every NPU and every switch in turn, too: minutes")
    everything = parser.parse_args().all
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, result = result_of(HERE / "scenario.yaml")
        hold = code == 0
        (item,) = result["takeovers"]["npu"]
        print(metrics_table(result["metrics"], SHOWN, VARIANTS))
        print(f"all assertions hold: {'yes' if hold else 'no'}")
        right = (item["npu"], item["spare"]) == ("npu9", "spare0")
        print(f"{item['spare']} has the place of {item['npu']}")
        if everything:
            code, npus = sweep_of(HERE / "scenario.yaml", "npu", "npu", folder / "npus")
            served = npus["runs_with_spare"] == npus["correct_runs"] == npus["runs"]
            print(f"every NPU in turn: {npus['correct_runs']} of {npus['runs']} right, with the spare")
            right = right and code == 0 and served
            code, switches = sweep_of(HERE / "scenario.yaml", "switch", "switch", folder / "switches")
            print(f"every switch in turn: {switches['correct_runs']} of {switches['runs']} right")
            right = right and code == 0
    return 0 if hold and right else 1


if __name__ == "__main__":
    sys.exit(main())
