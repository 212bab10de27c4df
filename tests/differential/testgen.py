# SPDX-License-Identifier: Apache-2.0
"""Tests that p4testgen has generated from our own programs, in testgen/: each of one path through a program.

    python -m tests.differential.testgen --p4testgen DIR/p4testgen --tests 1000        # generate and run
    python -m tests.differential.testgen --p4testgen DIR/p4testgen --write             # renew testgen/

Another seed gives other tests. What p4testgen (of p4c 1.2.5.16) cannot execute is not here: programs with
loops, or field lists of several members, or clones of clones; and paths with range matches. At a shift by an
amount of another width than the value it stops (z3_solver.cpp gives Z3 both operands as they are), so the UB
programs, every_match and arithmetic need one that extends the narrower operand first. Of some paths it
expects what neither BMv2 nor the engine does: header unions, a saturating difference of signed numbers. They
are not kept.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.progress import track

from tests.differential.stf.run import Case, run_all

__all__ = ["FOLDER", "PROGRAMS", "cases", "compiled", "generate"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = HERE / "testgen"
PROGRAMS = {
    **{name: ROOT / "p4" / f"{name}.p4" for name in ("ub_npu", "ub_switch", "rail_gpu", "rail_switch")},
    **{
        name: ROOT / "tests" / "programs" / f"{name}.p4"
        for name in ("arithmetic", "every_match", "parsing", "wire")
    },
}

_SEED = 1
_KEPT = 100
_MARK = "# test "
# Of a packet. p4testgen would fill it up to 9,000 bytes, which says no more.
_BITS = "0:1000"
_SECONDS = 600.0


def compiled(name: str) -> Path:
    """The committed BMv2 JSON of one of PROGRAMS."""
    return PROGRAMS[name].parent / "build" / f"{name}.json"


def cases(file: Path, directory: Path) -> list[Case]:
    """The tests of one file of testgen/, each as a file of its own in `directory`."""
    result: list[Case] = []
    for number, text in enumerate(file.read_text().split(_MARK)[1:], 1):
        item = directory / f"{file.stem}_{number}.stf"
        item.write_text(_MARK + text)
        result.append(Case(item, compiled(file.stem)))
    return result


def generate(name: str, p4testgen: Path, count: int, seed: int, directory: Path) -> list[Case]:
    """At most `count` tests of a program; RuntimeError has p4testgen's message when it made none."""
    command = [
        *(str(p4testgen), "--target", "bmv2", "--arch", "v1model", "--test-backend", "STF"),
        *("-I", str(p4testgen.resolve().parent / "p4include"), "--disable-info-logging"),
        *("--max-tests", str(count), "--seed", str(seed), "--path-selection", "RANDOM_BACKTRACK"),
        *("--packet-size-range", _BITS, "--out-dir", str(directory), "--test-name", name),
        str(PROGRAMS[name]),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    tests = sorted(directory.glob(f"{name}_*.stf"), key=lambda file: int(file.stem.rpartition("_")[2]))
    if not tests:
        raise RuntimeError(f"p4testgen made no test of {name}: {done.stderr.strip()[-500:]}")
    return [Case(test, compiled(name)) for test in tests]


def _bare(text: str) -> Iterator[str]:
    """Without the trace of the path."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line


def _write(name: str, tests: list[Case]) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines = ["# SPDX-License-Identifier: Apache-2.0", f"# {name}, by p4testgen; see testgen.py"]
    for number, case in enumerate(tests[:_KEPT], 1):
        lines += [f"{_MARK}{number}", *_bare(case.stf.read_text())]
    (FOLDER / f"{name}.stf").write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.differential.testgen", description="Generated tests.")
    parser.add_argument("--p4testgen", type=Path, required=True, help="the binary, in its build directory")
    parser.add_argument("--program", choices=PROGRAMS, action="append", help="only this one")
    parser.add_argument("--tests", type=int, default=_KEPT, help="at most so many of each program")
    parser.add_argument("--seed", type=int, help="of all programs")
    parser.add_argument("--bmv2", action="store_true", help="on BMv2 too")
    parser.add_argument("--write", action="store_true", help="renew what is committed; runs on BMv2 too")
    parser.add_argument("--jobs", type=int, default=4, help="processes of BMv2 at a time")
    arguments = parser.parse_args()
    failures = 0
    for name in arguments.program or PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="testgen-") as directory:
            seed = _SEED if arguments.seed is None else arguments.seed
            try:
                tests = generate(name, arguments.p4testgen, arguments.tests, seed, Path(directory))
            except RuntimeError as ex:
                print(ex)
                continue
            failed = _failed(name, tests, "engine", 1)
            if arguments.bmv2 or arguments.write:
                # Where BMv2 fails as well, p4testgen expects something else than v1model's reference does.
                refuted = _failed(name, tests, "BMv2", arguments.jobs)
                print(f"{name}: on the engine {len(failed - refuted)} fail that pass on BMv2")
                failed -= refuted
                tests = [case for case in tests if case not in refuted]
            failures += len(failed)
            if arguments.write:
                _write(name, tests)
    return 1 if failures else 0


def _failed(name: str, tests: list[Case], switch: str, jobs: int) -> set[Case]:
    done = track(run_all(tests, switch, jobs), description=f"{name}, {switch}", total=len(tests))
    failed = {case: why for case, why in done if why}
    print(f"{name} on {switch}: {len(tests) - len(failed)} of {len(tests)} passed")
    for case, why in list(failed.items())[:10]:
        print(f"  {case.name}: " + "\n    ".join(why[:5]))
    return set(failed)


if __name__ == "__main__":
    sys.exit(main())
