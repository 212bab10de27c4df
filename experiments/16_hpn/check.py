# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and says what is true of them; exit code 1 when something is not."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SHOWN = (
    "completion_us",
    "correct_npus",
    "lost_frames",
    "dropped_frames",
    "duplicate_frames",
    "convergence_us",
)
DUAL = ("healthy", "cable", "repaired", "flap", "silent", "tor")
SINGLE = ("healthy", "repaired", "flap", "cable", "tor")

# Scenario and variant -> who is cut off for good.
HALTS = {
    ("single.yaml", "cable"): "gpu0 has lost the network between domains",
    ("single.yaml", "tor"): "gpu0, gpu4 have lost the network between domains",
    ("stacked.yaml", "pair"): "gpu0, gpu4 have lost the network between domains",
}


def result(file: str, folder: Path) -> tuple[int, dict[str, Any]]:
    program = "from railyard.cli import main; main()"
    arguments = ["run", str(HERE / file), "--out", str(folder)]
    code = subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode
    return code, json.loads((folder / "result.json").read_text())


def table(metrics: dict[str, float], variants: tuple[str, ...]) -> str:
    lines = ["| | " + " | ".join(variants) + " |", "|---|" + "---:|" * len(variants)]
    for name in SHOWN:
        cells = " | ".join(f"{metrics[f'{variant}.{name}']:,}" for variant in variants)
        lines.append(f"| `{name}` | {cells} |")
    return "\n".join(lines)


def facts(folder: Path) -> Iterator[tuple[str, bool]]:
    code, dual = result("scenario.yaml", folder / "dual")
    yield "dual-ToR: all assertions hold", code == 0
    results = {"scenario.yaml": dual}
    for file in ("single.yaml", "stacked.yaml"):
        code, results[file] = result(file, folder / file)
        yield f"{file}: the runs that lose their last cable halt", code == 0
    print("dual-ToR", table(dual["metrics"], DUAL), sep="\n\n")
    single = results["single.yaml"]["metrics"]
    print("single-ToR", table(single, SINGLE), sep="\n\n")
    for (file, variant), words in HALTS.items():
        yield f"{file}, {variant}: {words}", results[file]["cut_off"][variant] == words
    saved = single["repaired.correct_npus"] == single["repaired.npus"]
    yield "single-ToR: a repair in time saves the job", saved


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        said = list(facts(Path(name)))
    for words, is_so in said:
        print(f"{'yes' if is_so else 'NO'}: {words}")
    return 0 if all(is_so for _, is_so in said) else 1


if __name__ == "__main__":
    sys.exit(main())
