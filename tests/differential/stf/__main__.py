# SPDX-License-Identifier: Apache-2.0
"""Run STF tests from the command line.

python -m tests.differential.stf --p4c ~/p4c --engine            # p4c's v1model tests on the engine
python -m tests.differential.stf --p4c ~/p4c --bmv2 arith-bmv2   # some of them, on BMv2
python -m tests.differential.stf --program p4/build/ub_npu.json --engine --bmv2 build/testgen/*.stf
"""

import argparse
import shutil
import sys
from pathlib import Path

from rich.progress import track

from tests.differential.stf.compiled import COMPILER, corpus
from tests.differential.stf.run import SWITCHES, Case, run_all


def main() -> int:
    arguments = _arguments()
    cases = _cases(arguments)
    asked = [name for name in SWITCHES if getattr(arguments, name.lower())] or [SWITCHES[0]]
    if "BMv2" in asked and not all(map(shutil.which, ("simple_switch", "simple_switch_CLI"))):
        sys.exit("simple_switch and simple_switch_CLI are not on the PATH: install BMv2, or leave out --bmv2")
    if arguments.p4c and shutil.which(COMPILER) is None:
        sys.exit(f"{COMPILER} is not on the PATH: install https://github.com/p4lang/p4c")
    failures = 0
    for switch in asked:
        # The engine keeps the interpreter's lock: more jobs would only wait for each other.
        jobs = arguments.jobs if switch == "BMv2" else 1
        done = track(run_all(cases, switch, jobs), description=switch, total=len(cases))
        failed = [(case, why) for case, why in done if why]
        print(f"{switch}: {len(cases) - len(failed)} of {len(cases)} passed")
        for case, why in failed:
            shown = [*why[:5], *(["..."] if len(why) > 5 else [])]
            print(f"  {case.name}: " + "\n    ".join(shown))
        failures += len(failed)
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.differential.stf", description="Run STF tests.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--p4c", type=Path, metavar="DIR", help="a checkout of p4c: its v1model tests")
    where.add_argument("--program", type=Path, help="the program, .p4 or BMv2's .json, of the files given")
    parser.add_argument("--engine", action="store_true", help="on the built-in engine (the default)")
    parser.add_argument("--bmv2", action="store_true", help="on BMv2's simple_switch")
    parser.add_argument("--jobs", type=int, default=4, help="processes of BMv2 at a time (default 4)")
    parser.add_argument("tests", nargs="*", metavar="name", help="which of p4c's tests, or the STF files")
    return parser.parse_args()


def _cases(arguments: argparse.Namespace) -> list[Case]:
    if arguments.program:
        if not arguments.tests:
            sys.exit("--program needs the STF files to run")
        return [Case(Path(name), arguments.program) for name in arguments.tests]
    try:
        cases = {file.stem: Case(file, file.with_suffix(".p4")) for file in corpus(arguments.p4c)}
    except FileNotFoundError as ex:
        sys.exit(str(ex))
    names = [Path(name).stem for name in arguments.tests] or list(cases)
    if unknown := [name for name in names if name not in cases]:
        sys.exit(f"{arguments.p4c} has no v1model test {', '.join(unknown)}")
    return [cases[name] for name in names]


if __name__ == "__main__":
    sys.exit(main())
