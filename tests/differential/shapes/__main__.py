# SPDX-License-Identifier: Apache-2.0
"""Random programs on the engine and on BMv2, with random entries and frames, from the command line.

python -m tests.differential.shapes --count 2000 --seed 1
python -m tests.differential.shapes --count 500 --p4smith ~/p4c/build/backends/p4tools/modules/smith/p4smith
python -m tests.differential.shapes --program results/shapes/17.p4    # one that was kept

The programs are our own generator's, or p4smith's; those read headers that may not be valid, and get only
frames that hold all headers. A program whose difference is unexplained is kept, with
what p4c made of it and the difference. It needs root, BMv2's simple_switch_grpc and p4c-bm2-ss.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.differential.fuzz.session import Summary
from tests.differential.shapes.program import random_program
from tests.differential.shapes.run import Built, Pair, build_ahead

_ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    arguments = _arguments()
    text_of: Callable[[int], str] = random_program
    seeds: Iterable[int] = range(arguments.seed, arguments.seed + arguments.count)
    if arguments.p4smith is not None:
        text_of = partial(_smith, arguments.p4smith)
    if arguments.program is not None:
        number = int(arguments.program.stem) if arguments.program.stem.isdigit() else arguments.seed
        seeds, text_of = [number], lambda _: arguments.program.read_text()
    total, refused, differ = Summary(), Counter[str](), 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        tempfile.TemporaryDirectory(prefix="shapes-") as name,
        ThreadPoolExecutor(arguments.jobs) as pool,
        Pair(Path(name)) as pair,
        Progress(*columns) as bar,
    ):
        task = bar.add_task("programs", total=arguments.count if arguments.program is None else 1)
        for built in build_ahead(
            seeds, text_of, Path(name), pool, arguments.jobs, whole=arguments.p4smith is not None
        ):
            if built.files is None:
                refused[_kind(built.refused)] += 1
            else:
                summary = pair.run(built)
                _add(total, summary)
                if summary.counts:
                    differ += 1
                    _keep(built, summary, arguments.keep)
                    bar.console.print(f"{built.seed}: {', '.join(summary.counts)}", markup=False)
            bar.update(task, advance=1, description=f"programs, {differ} differ")
    run = bar.tasks[0].completed - refused.total()
    print(f"{run:.0f} programs, {total.frames} frames gave {total.outputs}; {total.updates} updates")
    for why, count in refused.most_common():
        print(f"{count} refused by the compiler: {why}")
    for reason, count in total.explained.most_common():
        print(f"{count} explained: {reason}")
    print("Passes in which two effects met, on the engine:")
    for line in pair.effects.table():
        print(line)
    print(f"{differ} programs with an unexplained difference" + (f", in {arguments.keep}" if differ else ""))
    return 1 if differ else 0


def _smith(binary: Path, seed: int) -> str:
    """Return the program that p4smith makes of a seed."""
    with tempfile.TemporaryDirectory(prefix="p4smith-") as name:
        file = Path(name) / "program.p4"
        command = [str(binary), "--target", "bmv2", "--arch", "v1model", "--seed", str(seed), str(file)]
        subprocess.run(command, capture_output=True, check=False)
        return file.read_text() if file.exists() else ""


def _add(total: Summary, summary: Summary) -> None:
    total.frames += summary.frames
    total.outputs += summary.outputs
    total.updates += summary.updates
    total.explained.update(summary.explained)


def _kind(message: str) -> str:
    """Return the compiler's message without what is particular to the program."""
    return message.partition("error:")[2].strip().partition(":")[2].strip()[:80] or message[:80]


def _keep(built: Built, summary: Summary, folder: Path) -> None:
    assert built.files is not None
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / str(built.seed)
    stem.with_suffix(".p4").write_text(built.text)
    stem.with_suffix(".json").write_bytes(built.files.json)
    stem.with_suffix(".p4info.txtpb").write_bytes(built.files.p4info)
    lines = [line for kind, texts in summary.examples.items() for line in (kind, *texts)]
    stem.with_suffix(".txt").write_text("\n".join(lines) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests.differential.shapes", description="Random programs: the engine against BMv2."
    )
    parser.add_argument("--count", type=int, default=100, help="number of programs (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the first program; the next ones follow")
    parser.add_argument("--p4smith", type=Path, metavar="FILE", help="take p4smith's programs: its binary")
    parser.add_argument(
        "--program", type=Path, metavar="FILE", help="run this program, of the seed in its name"
    )
    parser.add_argument(
        "--keep", type=Path, default=_ROOT / "results" / "shapes", help="folder of what differs"
    )
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time (default 2)")
    arguments = parser.parse_args()
    missing = [name for name in ("p4c-bm2-ss", "simple_switch_grpc") if shutil.which(name) is None]
    if missing:
        sys.exit(f"not on the PATH: {', '.join(missing)}")
    if arguments.p4smith is not None and not arguments.p4smith.is_file():
        sys.exit(f"{arguments.p4smith}: no such file; p4c builds p4smith beside p4testgen")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
