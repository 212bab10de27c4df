# SPDX-License-Identifier: Apache-2.0
"""Separates by runs what makes the two largest differences from ns-3-UB, in its Clos and its multipath case.

Each run here changes exactly the assumed cause: the paths of the Clos case meet as in the simulator, the
tasks of the multipath case keep to one path each, take turns, and go in packets of the simulator's size. Exit
code 1 if the figures do not meet.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from papers.checking.completion import Times, ended_operations
from papers.checking.statements import heading, say
from railyard.command import railyard, result_of

HERE = Path(__file__).resolve().parent
CLOS, MULTIPATH = "clos_32hosts-4leafs-8spines_pod2pod", "2dfm4x4-multipath_a2a"
NO_TIMEOUT = {"initial_rto_us": 10_000, "min_rto_us": 10_000}
ONE_PATH = {"transport": {"connections": {"paths": "random", "count": 1}, **NO_TIMEOUT}}
THEIR_PATHS = {
    "routing": {"strategy": {"python": f"{HERE / 'collisions.py'}:collide"}},
    "transport": NO_TIMEOUT,
}
# Microseconds of each task in the simulator, commit f462cd0 of SpriteL1207/ns3-ub.
THEIRS = {
    CLOS: (8.79, 16.85, 16.91, 16.86, 8.94, 8.79, 8.77, 16.92),
    MULTIPATH: (344.15, 688.42),
}


def our_times(case: Path, settings: Mapping[str, Any], *, in_turn: bool = False) -> Times:
    """Import a case, change settings of its variant, perhaps let each task wait for the last, and run it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "imported"
        if railyard("import", "ns-3-ub", case, "--out", folder):
            return {}
        scenario = folder / "scenario.yaml"
        document = YAML().load(scenario)
        document["variants"][0].update(settings)
        YAML().dump(document, scenario)
        if in_turn:
            graph = json.loads((folder / "graph.json").read_text())
            for before, operation in zip(graph["operations"], graph["operations"][1:], strict=False):
                del operation["at_us"]
                operation["after"] = [before["id"]]
            (folder / "graph.json").write_text(json.dumps(graph))
        code, result = result_of(scenario, "--no-report", "--quiet", folder=folder / "out")
        return {} if code else ended_operations(result)


def runs(cases: Path) -> Iterator[tuple[str, str, Times]]:
    """Yield case, what is changed here, and the completion of its tasks."""
    yield CLOS, "as imported", our_times(cases / CLOS, {})
    yield CLOS, "the simulator's collisions", our_times(cases / CLOS, THEIR_PATHS)
    yield MULTIPATH, "as imported", our_times(cases / MULTIPATH, {})
    yield MULTIPATH, "one path a task", our_times(cases / MULTIPATH, ONE_PATH)
    yield MULTIPATH, "one path, in turn", our_times(cases / MULTIPATH, ONE_PATH, in_turn=True)
    small = {**ONE_PATH, "collective": {"payload_bytes": 512}}
    yield MULTIPATH, "and packets of 512 bytes", our_times(cases / MULTIPATH, small, in_turn=True)


def main() -> int:
    """Run both cases; 0 without them."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--cases", type=Path, help="folder with a folder for each case")
    chosen = parser.parse_args()
    if chosen.cases is None or not all((chosen.cases / case).is_dir() for case in THEIRS):
        print(f"skipped: needs the cases {' and '.join(THEIRS)} of ns-3-UB: --cases FOLDER")
        return 0
    checks: dict[str, bool] = {}
    lines = [heading("case", "here", "tasks, µs", words=3)]
    for case, changed, times in runs(chosen.cases):
        lines.append(f"| {case} | {changed} | {', '.join(f'{time:.2f}' for time in times.values())} |")
        if changed in ("the simulator's collisions", "one path, in turn"):
            ratios = [ours / theirs for ours, theirs in zip(times.values(), THEIRS[case], strict=True)]
            text = f"{case}: each task ends at {min(ratios):.3f} to {max(ratios):.3f} of the simulator's time"
            checks[text] = 0.95 < min(ratios) <= max(ratios) < 1.05
    for case, theirs in THEIRS.items():
        lines.append(f"| {case} | ns-3-UB | {', '.join(f'{time:.2f}' for time in theirs)} |")
    print("\n".join(lines))
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
