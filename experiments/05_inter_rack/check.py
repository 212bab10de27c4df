# SPDX-License-Identifier: Apache-2.0
"""Runs the study of this folder, twice, and says what is true of it; exit code 1 when something is not."""

import sys
from pathlib import Path
from statistics import mean

from papers.training.verify import Result, verify
from railyard.command import railyard

STUDY = Path(__file__).parent / "model.yaml"
READINGS = ("borrowed", "apart")


def checks(result: Result) -> dict[str, bool]:
    told: dict[str, bool] = {}
    for reading in READINGS:
        results = result["percent_of_baseline"][reading]
        told[f"{reading}: Shortest <= Detour <= Detour and Borrow, for every model and length"] = all(
            results["shortest"][model][length]
            <= results["detour"][model][length]
            <= results["borrow"][model][length]
            for model in results["clos"]
            for length in results["clos"][model]
        )
        told[f"{reading}: Detour and Borrow is less than 1 % behind Clos, for every model"] = all(
            100 - mean(lengths.values()) < 1 for lengths in results["borrow"].values()
        )
        shortest, borrow = (mean(results[name]["gpt4-2t"].values()) for name in ("shortest", "borrow"))
        told[f"{reading}: Detour and Borrow at least thirds what GPT4-2T is behind with Shortest"] = (
            100 - borrow <= (100 - shortest) / 3
        )
    return told


if __name__ == "__main__":
    sys.exit(verify(railyard, STUDY, checks))
