# SPDX-License-Identifier: Apache-2.0
"""Random entries and frames into the engine and BMv2, from the command line.

python -m tests.differential.fuzz --frames 1000000 --seed 7 --program p4/build/ub_npu.json
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.differential.fuzz.session import Summary, fuzz
from tests.differential.fuzz.subjects import subject


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.differential.fuzz", description="Engine against BMv2.")
    parser.add_argument("--program", type=Path, required=True, help="BMv2's JSON, its p4info beside it")
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory, Progress(*columns) as bar:
        task = bar.add_task(arguments.program.stem, total=arguments.frames)
        summary = fuzz(
            subject(arguments.program),
            frames=arguments.frames,
            seed=arguments.seed,
            directory=Path(directory),
            progress=lambda done: bar.update(task, completed=done),
        )
    _print(summary, time.monotonic() - started)
    return 1 if summary.counts else 0


def _print(summary: Summary, seconds: float) -> None:
    print(
        f"{summary.frames} frames gave {summary.outputs}; "
        f"{summary.updates} updates, {summary.refused} refused; {seconds:.0f} s"
    )
    for reason, count in summary.explained.most_common():
        print(f"{count} explained: {reason}")
    print(f"{summary.counts.total()} unexplained differences")
    for kind, count in summary.counts.most_common():
        print(f"{count} × {kind}")
        for example in summary.examples[kind]:
            print("    " + example.replace("\n", "\n    "))


if __name__ == "__main__":
    sys.exit(main())
