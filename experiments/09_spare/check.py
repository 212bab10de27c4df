# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what is true of it; exit code 1 when something is not.

With --all every NPU and every switch fails in turn, too.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from papers.claims.command import railyard, result_of

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


def table(metrics: dict[str, float]) -> str:
    lines = ["| | " + " | ".join(VARIANTS) + " |", "|---|" + "---:|" * len(VARIANTS)]
    for name in SHOWN:
        cells = (metrics.get(f"{variant}.{name}") for variant in VARIANTS)
        lines.append(
            f"| `{name}` | " + " | ".join("" if cell is None else f"{cell:,}" for cell in cells) + " |"
        )
    return "\n".join(lines)


def swept(folder: Path, kind: str) -> tuple[int, dict[str, Any]]:
    options = ("--cut-each", kind, "--variant", kind, "--out", folder)
    code = railyard("sweep", HERE / "scenario.yaml", *options)
    return code, json.loads((folder / "sweep.json").read_text())["metrics"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every NPU and every switch in turn, too: minutes")
    everything = parser.parse_args().all
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, result = result_of(HERE / "scenario.yaml")
        hold = code == 0
        (item,) = result["takeovers"]["npu"]
        print(table(result["metrics"]))
        print(f"all assertions hold: {'yes' if hold else 'no'}")
        right = (item["npu"], item["spare"]) == ("npu9", "spare0")
        print(f"{item['spare']} has the place of {item['npu']}")
        if everything:
            code, npus = swept(folder / "npus", "npu")
            served = npus["runs_with_spare"] == npus["correct_runs"] == npus["runs"]
            print(f"every NPU in turn: {npus['correct_runs']} of {npus['runs']} right, with the spare")
            right = right and code == 0 and served
            code, switches = swept(folder / "switches", "switch")
            print(f"every switch in turn: {switches['correct_runs']} of {switches['runs']} right")
            right = right and code == 0
    return 0 if hold and right else 1


if __name__ == "__main__":
    sys.exit(main())
