# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder on every testbed that this machine carries, and compares the results.

Prints figures as Markdown tables; exit code 1 when something is not as it must be.
"""

import sys
from pathlib import Path

from papers.checking.statements import say
from papers.checking.testbeds import TESTBEDS, available, differing, table
from railyard.command import result_of

HERE = Path(__file__).parent
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


def main() -> int:
    testbeds, absent = available()
    checks: dict[str, bool] = {}
    for name, shown in SHOWN.items():
        done = {testbed: result_of(HERE / f"{name}.yaml", *TESTBEDS[testbed]) for testbed in testbeds}
        results = {testbed: result for testbed, (_, result) in done.items() if result}
        print(f"\n{table(results, shown)}\n")
        checks[f"{name}: all assertions hold"] = all(code == 0 for code, _ in done.values())
        wrong = differing(results, SAME)
        checks[
            f"{name}: the same arrays and data frames{', but ' if wrong else ''}{', '.join(wrong)}"
        ] = not wrong
    for why in absent:
        print(why)
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
