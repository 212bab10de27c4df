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


def checks(result: dict) -> dict[str, bool]:
    told: dict[str, bool] = {}
    for reading in READINGS:
        found = result["percent_of_baseline"][reading]
        told[f"{reading}: Shortest <= Detour <= Detour and Borrow, for every model and length"] = all(
            found["shortest"][model][length]
            <= found["detour"][model][length]
            <= found["borrow"][model][length]
            for model in found["clos"]
            for length in found["clos"][model]
        )
        told[f"{reading}: Detour and Borrow is less than 1 % behind Clos, for every model"] = all(
            100 - mean(lengths.values()) < 1 for lengths in found["borrow"].values()
        )
        shortest, borrow = (mean(found[name]["gpt4-2t"].values()) for name in ("shortest", "borrow"))
        told[f"{reading}: Detour and Borrow at least thirds what GPT4-2T is behind with Shortest"] = (
            100 - borrow <= (100 - shortest) / 3
        )
    return told


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
