# SPDX-License-Identifier: Apache-2.0
"""Runs the study of this folder, twice, and says what is true of it; exit code 1 when something is not."""

import sys
from pathlib import Path

from papers.training.verify import Result, percent, verify
from railyard.command import railyard

STUDY = Path(__file__).parent / "model.yaml"
READINGS = ("borrowed", "apart")


SHORT = ("8K", "16K", "32K")
LONG = ("64K", "128K", "256K", "512K", "1M", "2M", "4M", "10M")


def checks(result: Result) -> dict[str, bool]:
    def gains(new: str, old: str, lengths: tuple[str, ...]) -> list[float]:
        return [
            percent(result, reading, new, lengths) - percent(result, reading, old, lengths)
            for reading in READINGS
        ]

    ordered = all(
        gain >= 0
        for span in (SHORT, LONG)
        for new, old in (("x8", "x4"), ("x16", "x8"), ("x32", "x16"))
        for gain in gains(new, old, span)
    )
    low, high = sorted(gains("x32", "x16", LONG))
    traded = gains("x32-traded", "x16", SHORT)[1], gains("x32-traded", "x16", ("1M", "2M", "4M", "10M"))[1]
    return {
        "more lanes on top never make it slower": ordered,
        "64K to 10M: the paper's gain of 1.85 % from x16 to x32 lies between the readings": low
        <= 1.85
        <= high,
        "uplinks apart, lanes taken from peers: x32 loses to x16 at 8K to 32K": traded[0] < 0,
        "and does not from 1M on": traded[1] >= 0,
    }


if __name__ == "__main__":
    sys.exit(verify(railyard, STUDY, checks))
