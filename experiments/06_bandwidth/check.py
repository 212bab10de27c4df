# SPDX-License-Identifier: Apache-2.0
"""Runs the study of this folder, twice, and says what is true of it; exit code 1 when something is not."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

HERE = Path(__file__).parent
READINGS = ("borrowed", "apart")


def run(folder: Path) -> int:
    program = "from lab.cli import main; main()"
    arguments = ["model", str(HERE / "model.yaml"), "--out", str(folder)]
    return subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode


def percent(result: dict, reading: str, variant: str, lengths: tuple[str, ...] = ()) -> float:
    """Mean over all models, and over some lengths or all."""
    models = result["percent_of_baseline"][reading][variant].values()
    return mean(
        value for model in models for length, value in model.items() if not lengths or length in lengths
    )


SHORT = ("8K", "16K", "32K")
LONG = ("64K", "128K", "256K", "512K", "1M", "2M", "4M", "10M")


def checks(result: dict) -> dict[str, bool]:
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


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        codes = run(first), run(second)
        if codes != (0, 0):
            return 1
        same = all(
            (first / name).read_bytes() == (second / name).read_bytes()
            for name in ("result.json", "plot.svg")
        )
        result = json.loads((first / "result.json").read_text())
    told = {**checks(result), "the same file gives the same result.json and plot.svg, byte for byte": same}
    for text, holds in told.items():
        print(f"{text}: {'yes' if holds else 'no'}")
    return 0 if all(told.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
