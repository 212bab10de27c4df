# SPDX-License-Identifier: Apache-2.0
"""Runs case folders of ns-3-UB and compares the completion of every task with the simulator's own output.

A case is a folder with the simulator's CSV files and with `runlog`, which the simulator writes into it. The
folders are not part of this project; without them nothing is compared. Prints the figures as a Markdown
table, and draws the distribution of completion if a picture is named; exit code 1 if data are wrong.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from papers.claims.command import railyard, result_of, say

TASK = re.compile(r"\[([\d.]+)us\] (?:WQE|MEM Task) Completes,.*taskId: (\d+)")

POINTS = 200  # of a curve

Times = Mapping[int, float]
"""Microseconds of completion, by number of the task."""


def their_times(case: Path) -> Times:
    """Return what the simulator's trace says; empty without a trace."""
    lines = (
        line for trace in case.glob("runlog/TaskTrace_node_*.tr") for line in trace.read_text().splitlines()
    )
    return {int(match[2]): float(match[1]) for line in lines if (match := TASK.search(line))}


def our_times(case: Path, folder: Path) -> tuple[int, Times]:
    """Import and run a case; return the exit code and the completion of its tasks."""
    code = railyard("import", "ns-3-ub", case, "--out", folder)
    if code:
        return code, {}
    code, result = result_of(folder / "scenario.yaml", "--no-report", "--quiet", folder=folder / "out")
    operations = result.get("operations", {}).get("run", [])
    return code, {
        int(name.removeprefix("task")): operation["end_us"]
        for operation in operations
        if (name := operation["id"]).removeprefix("task").isdecimal()
    }


def rows(cases: Mapping[str, tuple[Times, Times]]) -> Iterator[str]:
    """Yield a table of the last completion and of the median; there may be tasks that only end here."""
    titles = ["tasks", "ended there", "last here, µs", "last there, µs", "ratio", "median here, µs"]
    yield f"| case | {' | '.join([*titles, 'median there, µs'])} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, (ours, theirs) in cases.items():
        own, other = sorted(ours.values()), sorted(theirs.values())
        yield (
            f"| {name} | {len(own):,} | {len(other):,} | {own[-1]:,.2f} | {other[-1]:,.2f} | "
            f"{own[-1] / other[-1]:.3f} | {own[len(own) // 2]:,.2f} | {other[len(other) // 2]:,.2f} |"
        )


def draw(picture: Path, cases: Mapping[str, tuple[Times, Times]]) -> None:
    """Draw the share of all tasks that have completed over time, a panel a case."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6 * len(cases), 3.4), layout="constrained")
    for panel, (name, (ours, theirs)) in zip(
        figure.subplots(1, len(cases), squeeze=False)[0], cases.items(), strict=True
    ):
        for times, label, style in ((ours, "Railyard", "-"), (theirs, "ns-3-UB", "--")):
            ordered = sorted(times.values())
            step = max(1, len(ordered) // POINTS)
            places = [*range(0, len(ordered), step), len(ordered) - 1]
            shares = [(place + 1) / len(ours) for place in places]
            panel.plot([ordered[place] for place in places], shares, style, label=label)
        panel.set(
            title=f"{name}, {len(ours):,} tasks",
            xlabel="completion, µs",
            ylabel="share of all tasks",
            ylim=(0, 1.02),
        )
        panel.legend()
    with rc_context({"svg.hashsalt": "32"}):
        figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


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
            print(f"{case.name}: left out, without a trace of tasks in runlog")
            continue
        with tempfile.TemporaryDirectory() as folder:
            code, ours = our_times(case, Path(folder) / "imported")
        checks[f"{case.name}: every task ends here, its data are right"] = (
            code == 0 and None not in ours.values() and ours.keys() >= theirs.keys()
        )
        if ours:
            cases[case.name] = ours, theirs
    if not checks:
        print(f"skipped: no case with a trace below {chosen.cases}")
        return 0
    print("\n".join(rows(cases)))
    if chosen.picture is not None:
        draw(chosen.picture, cases)
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
