# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, 15 segments of HPN, or variants of it; says what is true, and its cost.

Exit code 1 when a statement does not hold.
"""

import sys
from pathlib import Path

import railyard
from papers.checking.balance import check_balance

# Of the 128 values of the hash that a group of 15 distinguishes, its first eight members have nine each, the
# others eight.
FAVOURED = 128 % 15

# Six GPUs for each of the 32 GPUs below the dead ToR, and the other ToRs of its plane.
TOLD = 6 * 32 + 119

if __name__ == "__main__":
    sys.exit(
        check_balance(
            railyard.run,
            Path(__file__).with_name("scenario.yaml"),
            favoured=FAVOURED,
            fullest=2.5,
            told=TOLD,
            most_seconds=100,
            most_gb=4,
        )
    )
