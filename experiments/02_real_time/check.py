# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder on every testbed that this machine carries, and compares what came of it.

Prints the figures as a Markdown table; exit code 1 when something is not as it must be.
"""

import argparse
import sys
from itertools import product
from pathlib import Path

from papers.checking.testbeds import compare
from railyard.command import result_of

# In virtual or real time, the same.
SAME = ("npus", "correct_npus", "sent_frames", "received_frames", "result_crc32", "table_entries")
SHOWN = (
    "completion_us",
    "correct_npus",
    "sent_frames",
    "retransmitted_frames",
    "nodes_notified",
    "entries_rewritten",
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", default="", help="a full mesh of that shape, as 2x4, instead of the rack")
    dims = parser.parse_args().dims
    metrics = [".".join(pair) for pair in product(("healthy", "cut"), SHOWN)]
    options = ["--dims", dims] if dims else []
    sys.exit(compare(result_of, Path(__file__).parent, {"scenario": metrics}, SAME, options))
