# SPDX-License-Identifier: Apache-2.0
"""Runs the study of this folder, twice, and says what is true of it; exit code 1 when something is not."""

import sys
from pathlib import Path

from papers.training.verify import Result, percent, verify
from railyard.command import railyard

STUDY = Path(__file__).parent / "model.yaml"
READINGS = ("borrowed", "apart")


SHORT = ("8K", "16K", "32K")


def checks(result: Result) -> dict[str, bool]:
    short = {
        variant: [percent(result, reading, variant, SHORT) for reading in READINGS]
        for variant in ("2d-fm", "1d-fm-a", "1d-fm-b")
    }
    whole = [percent(result, reading, "2d-fm") for reading in READINGS]
    return {
        "over all lengths 2D-FM has 93 to 96 % of Clos with uplinks apart": 93 <= whole[1] <= 96,
        "8K to 32K: the paper's 95.5 % for 2D-FM lies between the readings": short["2d-fm"][1]
        <= 95.5
        <= short["2d-fm"][0],
        "8K to 32K: 2D-FM, 1D-FM-A, 1D-FM-B, each above the one before, in both readings": all(
            two < a < b for two, a, b in zip(*short.values(), strict=True)
        ),
    }


if __name__ == "__main__":
    sys.exit(verify(railyard, STUDY, checks))
