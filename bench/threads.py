# SPDX-License-Identifier: Apache-2.0
"""Threads of the embedded testbed: what each does in a run, and what it waits for.

`python -m bench.threads experiments/10_pod/scenario.yaml healthy --threads 1 2` runs a variant in so many
threads, on machines of fewer processors, too, and prints a line of JSON for each count. Seconds are those of
processors, so that other load counts less: `run_seconds` from the first event to the last, of all threads
together, and `critical_seconds` what as many free processors would take for the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from emulation.embedded.testbed import EmbeddedTestbed
from harness.report.document import to_json
from harness.report.results import conclude
from harness.run.prepare import Prepared, prepare
from harness.run.runner import run
from harness.run.testbeds import Embedded
from harness.scenario.digest import sha256
from harness.scenario.loader import load
from railyard.api.scenarios import only

__all__ = ["main"]


class _Measured:
    """Makes embedded testbeds of so many threads and measures their runs."""

    name, switch, options = "embedded", "", ()

    def __init__(self, threads: int) -> None:
        self._choice = Embedded(threads=threads)
        self.beds: list[EmbeddedTestbed] = []
        self.begun: dict[str, float] = {}

    def check_machine(self, *, captures: bool) -> None:
        """Take any machine."""

    def check(self, prepared: object, *, captures: bool) -> None:
        """Take any number of threads."""

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> EmbeddedTestbed:
        self.beds.append(self._choice.make(ready, bin_ps, seed))
        return self.beds[-1]

    def note(self, variant: str, stage: str, share: float, pace: object = None, /) -> None:
        """Take the time at which a stage begins."""
        self.begun.setdefault(stage, time.process_time())


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.threads")
    parser.add_argument("scenario", type=Path)
    parser.add_argument("variant")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args(arguments)
    scenario, document = load(given.scenario)
    scenario = only(scenario, (given.variant,))
    prepared = prepare(scenario, document)
    for threads in given.threads:
        choice = _Measured(threads)
        before = time.process_time()
        runs = run(prepared, scenario.seed, choice.note, choice)
        result = to_json(conclude(scenario, scenario.seed, choice.name, runs.runs))
        ran = choice.begun["checking the data"] - choice.begun["running"]
        figures = {
            "threads": threads,
            "load": os.getloadavg()[0],
            "result": sha256(result.encode())[:12],
            "all_seconds": time.process_time() - before,
            **_of_windows(choice.beds[-1], ran),
        }
        print(json.dumps(figures), flush=True)


def _of_windows(bed: EmbeddedTestbed, ran: float) -> dict[str, Any]:
    """Return the work of the threads in a run of so many processor seconds."""
    report = bed.network.window_report()
    work = [seconds for _, seconds, _ in report["threads"]]
    in_windows = sum(work) + report["merge_seconds"]
    return {
        "hops": bed.network.hops,
        "run_seconds": ran,
        "critical_seconds": ran - in_windows + report["slowest_seconds"] + report["merge_seconds"],
        "work_seconds": work,
        "waiting_seconds": [waiting for _, _, waiting in report["threads"]],
        "merge_seconds": report["merge_seconds"],
        "windows": report["windows"],
        "events": [events for events, _, _ in report["threads"]],
        "events_outside": report["events_outside"],
        "frames_crossed": report["frames_crossed"],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
