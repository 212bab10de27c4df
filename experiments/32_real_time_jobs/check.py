# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder on every testbed that this machine carries, and compares the results.

Prints figures as Markdown tables; exit code 1 when something is not as it must be.
"""

import sys
from pathlib import Path

from papers.checking.testbeds import compare
from railyard.command import result_of

SHOWN = {
    "circuits": (
        "as-built.second.completion_us",
        "follow.first.completion_us",
        "follow.second.completion_us",
        "follow.circuits_created",
        "follow.lost_frames",
        "follow.retransmitted_frames",
        "follow.received_frames",
    ),
    "crux": (
        "alone.first.iteration_us",
        "one-class.first.iteration_us",
        "two-classes.first.iteration_us",
        "crux.first.iteration_us",
        "two-classes.second.iteration_us",
        "crux.received_frames",
    ),
    "hpn": (
        "healthy.completion_us",
        "cable.completion_us",
        "cable.entries_rewritten",
        "cable.received_frames",
        "tor.completion_us",
        "tor.received_frames",
    ),
}
# In virtual or real time, the same.
SAME = ("npus", "correct_npus", "received_frames", "result_crc32", "table_entries")

if __name__ == "__main__":
    sys.exit(compare(result_of, Path(__file__).parent, SHOWN, SAME))
