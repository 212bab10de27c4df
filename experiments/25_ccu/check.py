# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and compares the memory traffic with the arithmetic of the algorithm.

Exit code 1 when an assertion fails or a figure differs.
"""

import sys
from pathlib import Path

from papers.checking.statements import say
from railyard.command import result_of

HERE = Path(__file__).parent
ARRAY, NODES = 4 * 1048576, 64

# Reduce-scatter over 8 along one dimension and 8 along the other, and back, in arrays of an NPU: its first
# sends, what it receives to add, and as much to copy, and its sums.
FIRST, RECEIVED, SUMS = 7 / 8, 63 / 64, 1 / 8 + 1 / 64
SENT = 2 * RECEIVED
EXPECTED = {
    "ccu": (SENT + SUMS, SUMS + RECEIVED),
    # What goes on is written to the communication buffer as well: 8/64 of the sums, 7/64 of the copies.
    "core": (
        SENT + FIRST + (RECEIVED + SUMS) + RECEIVED,
        FIRST + 2 * RECEIVED + (SUMS + 8 / 64) + (RECEIVED + 7 / 64),
    ),
}


def main() -> int:
    code, result = result_of(HERE / "scenario.yaml")
    metrics = result["metrics"]
    fits = True
    for by, expected in EXPECTED.items():
        moved = tuple(metrics[f"{by}.memory_{word}_bytes"] / ARRAY / NODES for word in ("read", "written"))
        fits = fits and moved == expected
        print(f"{by}: {moved[0]:.4f} arrays read, {moved[1]:.4f} written; by arithmetic {expected}")
    saving = 1 - sum(EXPECTED["ccu"]) / sum(EXPECTED["core"])
    print(f"the CCU saves {saving:.1%} of the memory traffic")
    return say({"all assertions hold": code == 0, "memory traffic is that of the arithmetic": fits})


if __name__ == "__main__":
    sys.exit(main())
