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


def checks(result: dict) -> dict[str, bool]:
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
