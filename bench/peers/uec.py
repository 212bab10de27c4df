# SPDX-License-Identifier: Apache-2.0
"""The engine beside uet-htsim: a permutation of 1,024 hosts under NSCC, in one run.

`python -m bench.peers.uec --uet FOLDER --program PROGRAM` prints JSON. FOLDER is htsim/sim/datacenter of
github.com/ultraethernet/uet-htsim, PROGRAM its `htsim_uec`. Both run the experiment EXPERIMENT of its plan
validate_uec_sender.txt: each host sends 2 MB to one other over a tree of three tiers. uet-htsim's time is
that of its whole process. The engine's time includes drawing the hosts' data and making the agents, but not
the plan and the table entries; every flow has ended then. Times are wall clock and processor seconds;
uet-htsim has one thread.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN
from statistics import median
from tempfile import TemporaryDirectory

from bench.peers.timing import Times, engine_times, timed
from harness.formats.htsim_plan import read_plan
from harness.formats.written import write_imported
from harness.run.prepare import Prepared, prepare
from harness.scenario.loader import load

__all__ = ["compare", "main", "ready_of"]

PLAN, EXPERIMENT = "validate_uec_sender.txt", "Large permutation (1024 nodes)"
# The experiment's matrix and options in the plan.
MATRIX = "connection_matrices/perm_1024n_1024c_0u_2000000b.cm"
OPTIONS = ("-sender_cc_only", "-end", "400", "-paths", "128")


def ready_of(plan: Path, experiment: str, folder: Path) -> Prepared:
    """Return an experiment of a plan as a planned scenario, written to `folder`; ValueError without it."""
    imported = next((each for each in read_plan(plan) if each.name.partition("-")[2] == experiment), None)
    if imported is None:
        raise ValueError(f"{plan} has no experiment {experiment!r}")
    (ready,) = prepare(*load(write_imported(imported, folder, plan.name)))
    return ready


def uec_times(program: Path, folder: Path) -> Times:
    """Return the times of htsim_uec's process; RuntimeError unless all 1,024 flows have ended."""
    command = [str(program.resolve()), "-tm", str((folder / MATRIX).resolve()), *OPTIONS]
    with TemporaryDirectory() as place:  # the program writes files where it runs

        def run() -> None:
            nonlocal done
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)

        done: subprocess.CompletedProcess[str] | None = None
        times = timed(run, RUSAGE_CHILDREN)
    assert done is not None
    ended = done.stdout.count(" finished at ")
    if done.returncode != 0 or ended != 1024:
        raise RuntimeError(f"{program}: exit code {done.returncode}, {ended} of 1024 flows ended")
    return times


def compare(rounds: dict[str, list[Times]]) -> dict[str, object]:
    """Return the medians of each side, and how many times as long as the engine uet-htsim takes.

    `rounds` has the times of `htsim` and of the engine's numbers of threads, round by round. A ratio is the
    median of the ratios of single rounds.
    """
    result: dict[str, object] = {
        side: {"wall_s": median(wall for wall, _ in times), "processor_s": median(used for _, used in times)}
        for side, times in rounds.items()
    }
    for side in rounds:
        if side != "htsim":
            pairs = list(zip(rounds["htsim"], rounds[side], strict=True))
            result[f"ratio, {side}"] = {
                "wall": median(theirs[0] / ours[0] for theirs, ours in pairs),
                "processor": median(theirs[1] / ours[1] for theirs, ours in pairs),
            }
    return result


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(prog="bench.peers.uec", description=(__doc__ or "").strip())
    parser.add_argument("--uet", type=Path, required=True, help="uet-htsim's folder htsim/sim/datacenter")
    parser.add_argument("--program", type=Path, required=True, help="the program htsim_uec")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of the engine (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for path in (given.uet / PLAN, given.program):
        if not path.is_file():
            parser.error(f"{path}: no such file; build uet-htsim, and name its folder and program")
    rounds: dict[str, list[Times]] = {}
    with TemporaryDirectory() as folder:
        ready = ready_of(given.uet / PLAN, EXPERIMENT, Path(folder) / "scenario")
        for _ in range(given.rounds):  # in turn, so that a noisy machine is noisy for both
            rounds.setdefault("htsim", []).append(uec_times(given.program, given.uet))
            for threads in given.threads:
                rounds.setdefault(f"threads {threads}", []).append(engine_times(ready, threads))
            print({side: times[-1] for side, times in rounds.items()}, file=sys.stderr)
    print(json.dumps(compare(rounds), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
