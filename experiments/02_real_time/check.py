# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder on every testbed that this machine carries, and compares what came of it.

Prints the figures as a Markdown table; exit code 1 when something is not as it must be.
"""

import argparse
import os
import shutil
import sys
from itertools import product
from pathlib import Path
from typing import Any

from papers.claims.command import result_of

HERE = Path(__file__).parent
TESTBEDS = {
    "embedded": ["--testbed", "embedded"],
    "Mininet, built-in switch": ["--testbed", "mininet", "--switch", "builtin"],
    "Mininet, BMv2": ["--testbed", "mininet", "--switch", "bmv2"],
}
# In virtual or real time, the same.
SAME = ("npus", "correct_npus", "sent_frames", "received_frames", "result_crc32", "table_entries")
VARIANTS = ("healthy", "cut")
SHOWN = (
    "completion_us",
    "correct_npus",
    "sent_frames",
    "retransmitted_frames",
    "nodes_notified",
    "entries_rewritten",
)
TIMED = ("completion_us", "retransmitted_frames")


def carried() -> tuple[list[str], list[str]]:
    """Return the testbeds that this machine can carry, and why it cannot carry the others."""
    names = list(TESTBEDS)
    if os.geteuid() != 0:
        return names[:1], ["not on Mininet, which takes root"]
    if shutil.which("simple_switch_grpc") is None:
        return names[:2], ["not on BMv2, which is not installed"]
    return names, []


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = ["| | " + " | ".join(results) + " |", "|---|" + "---:|" * len(results)]
    for variant, metric in product(VARIANTS, SHOWN):
        cells = (_figure(result, variant, metric) for result in results.values())
        lines.append(f"| {variant}: `{metric}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _figure(result: dict[str, Any], variant: str, metric: str) -> str:
    """With a question mark where times cannot be believed."""
    figure = result["metrics"][f"{variant}.{metric}"]
    believed = result.get("fidelity", {}).get(variant, {}).get("trustworthy", True)
    text = f"{figure:,.3f}" if isinstance(figure, float) else f"{figure:,}"
    return text if believed or metric not in TIMED else f"{text}?"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", default="", help="a full mesh of that shape, as 2x4, instead of the rack")
    dims = parser.parse_args().dims
    testbeds, absent = carried()
    shape = ["--dims", dims] if dims else []
    done = {name: result_of(HERE / "scenario.yaml", *TESTBEDS[name], *shape) for name in testbeds}
    results = {testbed: result for testbed, (_, result) in done.items() if result}
    hold = all(code == 0 for code, _ in done.values())
    first = results.get("embedded", {"metrics": {}})["metrics"]
    differing = [
        f"{name} on {testbed}"
        for testbed, result in results.items()
        for name in first
        if name.partition(".")[2] in SAME and result["metrics"][name] != first[name]
    ]
    if first:
        print(table(results))
    for why in absent:
        print(why)
    print(f"all assertions hold: {'yes' if hold else 'no'}")
    print(f"the same arrays and data frames on all of them: {', '.join(differing) or 'yes'}")
    return 0 if hold and not differing else 1


if __name__ == "__main__":
    sys.exit(main())
