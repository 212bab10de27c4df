# SPDX-License-Identifier: Apache-2.0
"""Runs case folders of ns-3-UB and compares the completion of every task with the simulator's own output.

A case is a folder with the simulator's CSV files and with `runlog`, which the simulator writes into it, or
with `test/task_statistics.csv` or `output/task_statistics.csv`, which its script makes of that. The folders
are not part of this project; without them nothing is compared. Prints the figures as a Markdown
table, and draws the distribution of completion if a picture is named; exit code 1 if data are wrong.
"""

import argparse
import csv
import math
import re
import sys
import tempfile
from pathlib import Path

from papers.checking.completion import Times, draw_completion, ended_operations, table_of_completion
from papers.checking.statements import say
from railyard.command import railyard, result_of

TASK = re.compile(r"\[([\d.]+)us\] (?:WQE|MEM Task) Completes,.*taskId: (\d+)")


def their_times(case: Path) -> Times:
    """Return the completion of each task in the simulator's trace or statistics; empty without either."""
    lines = (
        line for trace in case.glob("runlog/TaskTrace_node_*.tr") for line in trace.read_text().splitlines()
    )
    traced = {f"task{match[2]}": float(match[1]) for line in lines if (match := TASK.search(line))}
    for statistics in () if traced else case.glob("*/task_statistics.csv"):
        with statistics.open(newline="", encoding="utf-8") as file:
            rows = [*csv.DictReader(file)]
        return {f"task{row['taskId']}": float(row["taskCompletesTime(us)"]) for row in rows}
    return traced


def our_times(case: Path, folder: Path) -> tuple[int, Times]:
    """Import and run a case; return the exit code and the completion of its tasks."""
    code = railyard("import", "ns-3-ub", case, "--out", folder)
    if code:
        return code, {}
    code, result = result_of(folder / "scenario.yaml", "--no-report", "--quiet", folder=folder / "out")
    ends = ended_operations(result)
    return code, {name: end for name, end in ends.items() if name.removeprefix("task").isdecimal()}


def main() -> int:
    """Compare the cases below a folder; 0 if there are none."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--cases", type=Path, help="folder with a folder for each case")
    parser.add_argument("--only", nargs="+", default=[], help="names of the cases")
    parser.add_argument("--picture", type=Path, help="file for the distribution of completion")
    chosen = parser.parse_args()
    if chosen.cases is None:
        print("skipped: needs case folders of ns-3-UB with their runlog: --cases FOLDER")
        return 0
    cases: dict[str, tuple[Times, Times]] = {}
    checks: dict[str, bool] = {}
    for case in sorted(path.parent for path in chosen.cases.glob("*/traffic.csv")):
        if chosen.only and case.name not in chosen.only:
            continue
        theirs = their_times(case)
        if not theirs:
            print(f"{case.name}: left out, without a trace of tasks in runlog or task_statistics.csv")
            continue
        with tempfile.TemporaryDirectory() as folder:
            code, ours = our_times(case, Path(folder) / "imported")
        checks[f"{case.name}: every task ends here, its data are right"] = (
            code == 0 and all(map(math.isfinite, ours.values())) and ours.keys() >= theirs.keys()
        )
        if ours:
            cases[case.name] = ours, theirs
    if not checks:
        print(f"skipped: no case with a trace below {chosen.cases}")
        return 0
    print("\n".join(table_of_completion(cases)))
    if chosen.picture is not None:
        draw_completion(chosen.picture, cases, "ns-3-UB")
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
