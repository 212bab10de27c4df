# SPDX-License-Identifier: Apache-2.0
"""Line coverage of the engine by its tests in C++, room by room: `make coverage` builds, runs and prints it.

`python scripts/coverage.py BUILD` reads the counts that a run of `engine_unit` left in BUILD. It needs
the gcov of the compiler that built it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1] / "emulation" / "engine"


def lines_run(build: Path) -> dict[tuple[Path, int], bool]:
    """Return whether each line of the engine with code was run, by file and number."""
    counts = sorted(build.rglob("*.gcda"))
    if not counts:
        raise SystemExit(
            f"{build} has no counts: run {build}/engine_unit first, built with RAILYARD_COVERAGE=ON"
        )
    ran: dict[tuple[Path, int], bool] = {}
    for path in counts:
        command = ("gcov", "--json-format", "--stdout", path.name)
        answer = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True).stdout
        for report in filter(None, answer.splitlines()):
            for file in json.loads(report)["files"]:
                source = (path.parent / file["file"]).resolve()
                if not source.is_relative_to(ENGINE):
                    continue
                for line in file["lines"]:
                    place = (source.relative_to(ENGINE), line["line_number"])
                    ran[place] = ran.get(place, False) or line["count"] > 0
    return ran


def main(build: Path) -> None:
    """Print a line for each room of the engine, and one for all of it."""
    ran = lines_run(build)
    lines, covered = Counter(), Counter()
    for (source, _), hit in ran.items():
        for room in (source.parts[0] if len(source.parts) > 1 else "(top)", "all"):
            lines[room] += 1
            covered[room] += hit
    for room in sorted(lines, key=lambda name: (name == "all", name)):
        share = 100 * covered[room] / lines[room]
        print(f"{room:12} {covered[room]:6} of {lines[room]:6} lines  {share:5.1f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
