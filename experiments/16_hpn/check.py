# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and says what is true of them; exit code 1 when something is not."""

import sys
from collections.abc import Iterator
from pathlib import Path

from papers.checking.statements import metrics_table, say
from railyard.command import result_of

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


def facts() -> Iterator[tuple[str, bool]]:
    code, dual = result_of(HERE / "scenario.yaml")
    yield "dual-ToR: all assertions hold", code == 0
    results = {"scenario.yaml": dual}
    for file in ("single.yaml", "stacked.yaml"):
        code, results[file] = result_of(HERE / file)
        yield f"{file}: the runs that lose their last cable halt", code == 0
    print("dual-ToR", metrics_table(dual["metrics"], SHOWN, DUAL), sep="\n\n")
    single = results["single.yaml"]["metrics"]
    print("single-ToR", metrics_table(single, SHOWN, SINGLE), sep="\n\n")
    for (file, variant), words in HALTS.items():
        yield f"{file}, {variant}: {words}", results[file]["cut_off"][variant] == words
    saved = single["repaired.correct_npus"] == single["repaired.npus"]
    yield "single-ToR: a repair in time saves the job", saved


def main() -> int:
    return say(dict(facts()))


if __name__ == "__main__":
    sys.exit(main())
