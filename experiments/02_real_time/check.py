# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder on every testbed that this machine carries, and compares what came of it.

Prints the figures as a Markdown table; exit code 1 when something is not as it must be.
"""

import argparse
import sys
from itertools import product
from pathlib import Path

from papers.checking.testbeds import TESTBEDS, available, differing, table
from railyard.command import result_of

HERE = Path(__file__).parent
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", default="", help="a full mesh of that shape, as 2x4, instead of the rack")
    dims = parser.parse_args().dims
    testbeds, absent = available()
    shape = ["--dims", dims] if dims else []
    done = {name: result_of(HERE / "scenario.yaml", *TESTBEDS[name], *shape) for name in testbeds}
    results = {testbed: result for testbed, (_, result) in done.items() if result}
    hold = all(code == 0 for code, _ in done.values())
    wrong = differing(results, SAME)
    if results:
        print(table(results, (f"{variant}.{metric}" for variant, metric in product(VARIANTS, SHOWN))))
    for why in absent:
        print(why)
    print(f"all assertions hold: {'yes' if hold else 'no'}")
    print(f"the same arrays and data frames on all of them: {', '.join(wrong) or 'yes'}")
    return 0 if hold and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
