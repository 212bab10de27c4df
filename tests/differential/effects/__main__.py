# SPDX-License-Identifier: Apache-2.0
"""Every pair of effects on one frame, and random programs of effects, on the engine and on BMv2.

python -m tests.differential.effects --count 2000 --seed 1

The command needs root and BMv2's simple_switch_grpc, but no compiler. It prints how often each pair of
effects met, and the frames on which the switches differ.
"""

import argparse
import shutil
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.differential.effects.programs import every_frame, every_pair, random_frames, random_program
from tests.differential.effects.run import RECORD, Meeting, record


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.differential.effects", description="Effects that meet.")
    parser.add_argument("--count", type=int, default=100, help="number of random programs (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the first program; the next ones follow")
    parser.add_argument("--frames", type=int, default=64, help="frames for each random program (default 64)")
    parser.add_argument("--seconds", type=float, help="start no further program after so many seconds")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name} if BMv2 agrees")
    arguments = parser.parse_args()
    if shutil.which("simple_switch_grpc") is None:
        sys.exit("simple_switch_grpc is not on the PATH: install BMv2")
    started, run, differ = time.monotonic(), 0, 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        tempfile.TemporaryDirectory(prefix="effects-") as name,
        Meeting(Path(name)) as meeting,
        Progress(*columns) as bar,
    ):
        task = bar.add_task("programs", total=arguments.count)
        for in_table in product((False, True), repeat=2):
            differences = meeting.differences(every_pair(*in_table), list(every_frame()))
            differ += bool(differences)
            for text in differences:
                bar.console.print(f"every pair, in tables {in_table}: {text}", markup=False)
        if arguments.record and not differ:
            RECORD.write_text(record(every_pair()))
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            if arguments.seconds is not None and time.monotonic() - started > arguments.seconds:
                break
            frames = list(random_frames(seed, arguments.frames))
            differences = meeting.differences(random_program(seed), frames)
            differ += bool(differences)
            run += 1
            for text in differences:
                bar.console.print(f"seed {seed}: {text}", markup=False)
            bar.advance(task)
    print(f"{run} random programs, {meeting.frames} frames gave {meeting.outputs}; {differ} programs differ")
    for line in meeting.pairs.table():
        print(line)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
