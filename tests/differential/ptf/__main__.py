# SPDX-License-Identifier: Apache-2.0
"""PTF tests on the engine (railyard-switchd) and on BMv2, test by test, from the command line.

python -m tests.differential.ptf --p4c ~/p4c --guide ~/p4-guide --tutorials ~/tutorials
python -m tests.differential.ptf --p4c ~/p4c --only issue1544 --switch engine

Generated tests are p4testgen's, for the v1model programs of the checkouts; hand-written tests are those with
a script `runptf.sh`. The command needs root, BMv2's simple_switch_grpc, p4c-bm2-ss and p4testgen; it installs
PTF and p4runtime-shell into build/ptf. Suites whose results are in --out are not run again.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from rich.progress import Progress

from tests.differential.ptf.bench import SWITCHES, Bench, BenchError
from tests.differential.ptf.explained import explanation
from tests.differential.ptf.suites import Generator, Suite, SuiteError, generated, hand_written

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = ("ptf>=0.12,<0.13", "p4runtime-shell<0.1", "setuptools<80")

Result = dict[str, Any]
"""Result of a suite: "skipped" with the reason, or the verdicts by test of each switch."""


def main() -> int:
    arguments = _arguments()
    generator = Generator(arguments.p4testgen, arguments.tests, arguments.seed)
    suites = _suites(arguments)
    results: dict[str, Result] = {}
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = arguments.out / "results.json"
    if kept.exists() and not arguments.again:
        results = json.loads(kept.read_text())
    waiting = [suite for suite in suites if suite.name not in results]
    python = _python()
    with Progress() as bar, ThreadPoolExecutor(arguments.jobs) as pool:
        task = bar.add_task("suites", total=len(waiting))
        jobs = {pool.submit(_run, suite, generator, python, arguments.switch): suite for suite in waiting}
        for job in as_completed(jobs):
            name = jobs[job].name
            try:
                results[name] = job.result()
                kept.write_text(json.dumps(results, indent=1))
            except BenchError as ex:  # the suite runs again next time
                bar.console.print(f"{name}: {ex}", markup=False)
            bar.advance(task)
    return _report({suite.name: results[suite.name] for suite in suites if suite.name in results})


def _run(suite: Suite, generator: Generator, python: Path, switches: Sequence[str]) -> Result:
    with tempfile.TemporaryDirectory(prefix="ptf-") as name:
        directory = Path(name)
        try:
            tests = suite.build(directory, generator)
            result: Result = {}
            for switch in switches:
                with Bench(python, directory) as bench:
                    result[switch] = bench.run(switch, suite, tests)
        except SuiteError as ex:
            return {"skipped": str(ex)}
        return result


def _report(results: dict[str, Result]) -> int:
    """Print what differs, and the sums; return the exit code."""
    run = {name: result for name, result in results.items() if "skipped" not in result}
    unexplained = 0
    for name, result in run.items():
        for test in sorted({test for verdicts in result.values() for test in verdicts}):
            verdicts = {switch: result[switch].get(test, "not run") for switch in result}
            if len({verdict == "ok" for verdict in verdicts.values()}) == 1:
                continue
            cause = explanation(name, verdicts)
            unexplained += not cause
            print(f"{name} {test}: {cause or 'unexplained'}")
            for switch, verdict in verdicts.items():
                print(f"    {switch}: {verdict}")
    for switch in SWITCHES:
        verdicts = [verdict for result in run.values() for verdict in result.get(switch, {}).values()]
        if verdicts:
            passed = sum(verdict == "ok" for verdict in verdicts)
            print(f"{switch}: {passed} of {len(verdicts)} tests of {len(run)} programs passed")
    print(f"{len(results) - len(run)} programs without a test; {unexplained} unexplained differences")
    return 1 if unexplained else 0


def _suites(arguments: argparse.Namespace) -> list[Suite]:
    checkouts = [folder for folder in (arguments.tutorials, arguments.guide) if folder is not None]
    for folder in (*checkouts, arguments.p4c):
        if not folder.is_dir():
            sys.exit(f"{folder} is no directory: give a checkout")
    programs = generated([*checkouts, arguments.p4c / "testdata" / "p4_16_samples"], arguments.p4c)
    if arguments.programs is not None and arguments.programs < len(programs):
        programs = random.Random(arguments.seed).sample(programs, arguments.programs)
    suites = [*hand_written(checkouts), *programs]
    if arguments.only:
        suites = [suite for suite in suites if any(part in suite.name for part in arguments.only)]
    return suites


def _python() -> Path:
    """Return the interpreter of build/ptf, with PTF and p4runtime-shell, which need an older protobuf."""
    venv = _ROOT / "build" / "ptf"
    if not (venv / "bin" / "ptf").exists():
        print(f"installing PTF and p4runtime-shell into {venv.relative_to(_ROOT)}")
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *_PACKAGES], check=True)
    (package,) = venv.glob("lib/python3*/site-packages/p4")
    (package / "tmp").mkdir(exist_ok=True)
    shutil.copyfile(Path(__file__).with_name("p4config.py"), package / "tmp" / "p4config_pb2.py")
    return venv / "bin" / "python"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.differential.ptf", description="PTF tests on both switches.")
    parser.add_argument("--p4c", type=Path, required=True, metavar="DIR", help="a checkout of p4lang/p4c")
    parser.add_argument("--guide", type=Path, metavar="DIR", help="a checkout of jafingerhut/p4-guide")
    parser.add_argument("--tutorials", type=Path, metavar="DIR", help="a checkout of p4lang/tutorials")
    parser.add_argument("--p4testgen", type=Path, metavar="FILE", help="the binary, unless it is on the PATH")
    parser.add_argument("--tests", type=int, default=10, help="at most so many generated tests a program")
    parser.add_argument("--seed", type=int, default=1, help="of p4testgen, and of --programs")
    parser.add_argument("--programs", type=int, help="only so many programs with generated tests, at random")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only suites whose name contains it")
    parser.add_argument("--switch", choices=SWITCHES, action="append", help="only this switch")
    parser.add_argument("--jobs", type=int, default=2, help="suites at a time (default 2)")
    parser.add_argument("--out", type=Path, default=_ROOT / "results" / "ptf", help="folder of results.json")
    parser.add_argument("--again", action="store_true", help="run suites again whose results are kept")
    arguments = parser.parse_args()
    arguments.switch = arguments.switch or list(SWITCHES)
    arguments.p4testgen = arguments.p4testgen or Path(shutil.which("p4testgen") or "")
    needed = {"p4c-bm2-ss": True, "simple_switch_grpc": "BMv2" in arguments.switch}
    missing = [name for name, wanted in needed.items() if wanted and shutil.which(name) is None]
    if not arguments.p4testgen.is_file():
        missing.append("p4testgen (or give --p4testgen)")
    if missing:
        sys.exit(f"not on the PATH: {', '.join(missing)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
