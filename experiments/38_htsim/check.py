# SPDX-License-Identifier: Apache-2.0
"""Runs connection matrices of htsim here and in htsim, and compares the completion of every flow.

Both get the same matrix and the same fat tree (`tree16.topo`, `tree128.topo`). htsim's program and matrices
are not part of this project; without them nothing is compared. Prints the figures as Markdown tables, and
draws the distribution of completion if a picture is named; exit code 1 if data are wrong, a flow does not
end, or a last completion is further from htsim's than EXPECTED.
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from papers.checking.completion import Times, draw_completion, ended_operations, table_of_completion
from papers.checking.statements import heading, say
from railyard.command import railyard, result_of

HERE = Path(__file__).resolve().parent
# Matrix, and the hosts of its tree.
CASES = {"one": 16, "perm_16n_16c_2MB": 16, "incast": 16, "outcast_incast": 128}
DRAWN = [name for name in CASES if name != "one"]
# Last completion here over htsim's.
EXPECTED = (0.92, 1.02)
# Links that separate the causes of the differences in `incast`.
LINKS = {
    "as above": "{}",
    "lanes in turn": "{scheduler: round-robin}",
    "credits of 8 MiB": "{credit_bytes: 8388608}",
    "both": "{scheduler: round-robin, credit_bytes: 8388608}",
}

PACKET_BYTES = 4_000
GIGABITS = 100
END_US = 20_000
FLOW = re.compile(r"Flow ndp_(\d+)_(\d+) flow_id \d+ finished at ([\d.]+)")


def their_times(program: Path, matrix: Path, hosts: int, folder: Path) -> Times:
    """Run htsim's NDP; return the completion of each flow, named SOURCE->DESTINATION."""
    options = {
        "-nodes": hosts,
        "-tm": matrix.resolve(),
        "-topo": HERE / f"tree{hosts}.topo",
        "-linkspeed": GIGABITS * 1_000,
        "-mtu": PACKET_BYTES,
        "-strat": "perm",
        "-paths": 64,
        "-cwnd": 50,
        "-q": 50,
        "-end": END_US,
        "-o": folder / "htsim.log",
    }
    command = [str(program.resolve()), *(str(word) for pair in options.items() for word in pair)]
    # The program writes a file idmap.txt where it runs.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return {f"{match[1]}->{match[2]}": float(match[3]) for match in FLOW.finditer(done.stdout)}


def flows_of(matrix: Path) -> list[str]:
    """Return the flows of a matrix in its order, as SOURCE->DESTINATION."""
    words = (line.split() for line in matrix.read_text().splitlines())
    return [first[0] for first in words if first and "->" in first[0]]


def our_times(matrix: Path, hosts: int, link: str, folder: Path) -> Times:
    """Import and run a matrix; return the completion of its flows, nothing if data are wrong."""
    if railyard("import", "htsim", matrix, HERE / f"tree{hosts}.topo", "--out", folder):
        return {}
    scenario = folder / "scenario.yaml"
    with scenario.open("a", encoding="utf-8") as file:
        file.write(f"  link: {link}\n  collective: {{payload_bytes: {PACKET_BYTES}}}\n")
    code, result = result_of(scenario, "--no-report", "--quiet", folder=folder / "out")
    return {} if code else dict(zip(flows_of(matrix), ended_operations(result).values(), strict=True))


def main() -> int:
    """Compare the matrices; 0 without htsim."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--htsim", type=Path, help="the program htsim_ndp")
    parser.add_argument("--matrices", type=Path, help="htsim's folder sim/datacenter/connection_matrices")
    parser.add_argument("--picture", type=Path, help="file for the distribution of completion")
    chosen = parser.parse_args()
    if chosen.htsim is None or chosen.matrices is None:
        print("skipped: needs htsim, github.com/Broadcom/csg-htsim: --htsim PROGRAM --matrices FOLDER")
        return 0
    cases: dict[str, tuple[Times, Times]] = {}
    checks: dict[str, bool] = {}
    causes: list[str] = []
    for name, hosts in CASES.items():
        matrix = chosen.matrices / f"{name}.cm"
        with tempfile.TemporaryDirectory() as folder:
            theirs = their_times(chosen.htsim, matrix, hosts, Path(folder))
            ours = our_times(matrix, hosts, "{}", Path(folder) / "imported")
            for number, (cause, link) in enumerate(LINKS.items() if name == "incast" else ()):
                times = our_times(matrix, hosts, link, Path(folder) / f"cause{number}")
                ends = sorted(times.values())
                causes.append(
                    f"| {cause} | {ends[0]:,.0f} | {ends[len(ends) // 2]:,.0f} | {ends[-1]:,.0f} | "
                    f"{times['3->15']:,.0f} | {times['14->15']:,.0f} |"
                )
        ended = ours.keys() == theirs.keys() and all(map(math.isfinite, ours.values()))
        checks[f"{name}: every flow ends here and there, data are right"] = ended
        if ended:
            cases[name] = ours, theirs
            ratio = max(ours.values()) / max(theirs.values())
            checks[f"{name}: last completion {ratio:.3f} times htsim's"] = EXPECTED[0] < ratio < EXPECTED[1]
    if cases:
        print("\n".join(table_of_completion(cases)))
    if causes:
        ends_of = ("first", "median", "last", "3->15", "14->15")
        head = heading("incast, links here", *(f"{name}, µs" for name in ends_of))
        print("\n".join(["", head, *causes]))
    if chosen.picture is not None and cases.keys() >= set(DRAWN):
        draw_completion(chosen.picture, {name: cases[name] for name in DRAWN}, "htsim NDP")
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
