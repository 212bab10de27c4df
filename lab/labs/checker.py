# SPDX-License-Identifier: Apache-2.0
"""Check of a student's folder: all stages of its lab, in a process of their own with a limit on its time.

    python -m lab.labs.checker LAB COPY SEED SCRATCH RESULTS

The process writes a line of JSON for each stage to RESULTS as soon as the stage ends, so that a stage which
never ends costs only itself and the stages behind it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from lab.errors import LabError
from lab.labs.attempt import Attempt, StudentError, Verdict, failed
from lab.labs.catalogue import Lab, Stage, find_lab
from lab.labs.folder import copy_for_check
from topologies.errors import RailyardError

__all__ = ["check_folder", "check_stages", "draw_seed"]

# Address space of the process that checks; the testbeds of the labs take a tenth.
_MEMORY_BYTES = 8 << 30
_LOOK_SECONDS = 0.05

OnVerdict = Callable[[Stage, Verdict], None]


def draw_seed() -> int:
    """Return a new seed, which nobody could know before."""
    return secrets.randbelow(2**31)


def check_folder(
    folder: Path,
    lab: Lab,
    seed: int,
    *,
    on_verdict: OnVerdict = lambda stage, verdict: None,
) -> dict[str, Verdict]:
    """Check a student's folder and return the verdict of each stage, in order; nothing in the folder changes.

    Args:
        folder: The student's folder.
        lab: Its lab.
        seed: Seed of all that the check draws; `draw_seed` for a new seed.
        on_verdict: Receives each stage with its verdict as soon as there is one.

    Raises:
        LabError: A program that the lab needs is missing.
    """
    if lacking := lab.lacking():
        raise LabError(lacking)
    with TemporaryDirectory(prefix="railyard-lab-") as name:
        scratch = Path(name)
        copy, results = scratch / "copy", scratch / "results.jsonl"
        refused = copy_for_check(folder, lab, copy)
        results.touch()
        (scratch / "run").mkdir()
        command = [sys.executable, "-I", "-m", "lab.labs.checker", lab.name, str(copy), str(seed)]
        with (scratch / "err.txt").open("wb") as err:
            process = subprocess.Popen(
                [*command, str(scratch / "run"), str(results)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                start_new_session=True,
            )
            try:
                verdicts = _collect(lab, process, results, on_verdict)
            finally:
                _end(process)
        why = (scratch / "err.txt").read_text(errors="replace").strip().splitlines()
    for stage in lab.stages:
        if stage.id not in verdicts:
            verdict = verdicts[stage.id] = _without_verdict(lab, process.returncode, why)
            on_verdict(stage, verdict)
    if refused:
        note = f"not read: {', '.join(refused)} is no regular file of up to 1 MiB"
        verdicts = {
            name: failed(item.expected, note, refused[0]) if not item.passed else item
            for name, item in verdicts.items()
        }
    return verdicts


def _collect(
    lab: Lab, process: subprocess.Popen[bytes], results: Path, on_verdict: OnVerdict
) -> dict[str, Verdict]:
    """Return the verdicts that the process writes until it ends or its time is over."""
    until = time.monotonic() + lab.check_seconds
    verdicts: dict[str, Verdict] = {}
    ended = False
    while not ended:
        try:
            process.wait(_LOOK_SECONDS)
            ended = True
        except subprocess.TimeoutExpired:
            ended = time.monotonic() > until
        # A line without its end is still being written.
        for line in results.read_text().split("\n")[len(verdicts) : -1]:
            content = json.loads(line)
            stage = lab.stage(content.pop("stage"))
            verdicts[stage.id] = Verdict(**content)
            on_verdict(stage, verdicts[stage.id])
    return verdicts


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _without_verdict(lab: Lab, code: int, why: list[str]) -> Verdict:
    expected = f"a check that ends within {lab.check_seconds} s"
    if code == -signal.SIGKILL:
        return failed(expected, "the check did not end in time", "frames that circulate, a table that grows")
    last = why[-1] if why else "no reason given"
    return failed(expected, f"the check ended with code {code}: {last}", "report this to your teacher")


def check_stages(lab: Lab, attempt: Attempt, on_verdict: OnVerdict) -> None:
    """Run the stages of a lab in this process, each with whatever verdict the stages before it had."""
    module = _load(lab.folder / "check.py")
    for stage in lab.stages:
        if lacking := stage.lacking():
            program, _, how = lacking.partition("; ")
            on_verdict(stage, failed(stage.title, f"not checked: {program}", how))
            continue
        try:
            verdict: Verdict = getattr(module, stage.check)(attempt)
        except StudentError as ex:
            verdict = failed(stage.title, ex.observed, ex.look)
        except RailyardError as ex:
            verdict = failed(stage.title, str(ex), ", ".join(lab.files))
        except MemoryError:
            verdict = failed(stage.title, "the check ran out of memory", "the size of tables and answers")
        except Exception as ex:
            observed = f"the check could not judge your files: {type(ex).__name__}: {ex}"
            verdict = failed(stage.title, observed, "the form of what your code returns")
        on_verdict(stage, verdict)


def _load(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"check_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise LabError(f"{path} is no Python file", remedy="install Railyard anew")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Check the folder named on the command line and write the verdicts."""
    name, copy, seed, scratch, results = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    lab = find_lab(name)
    attempt = Attempt(lab, Path(copy), int(seed), Path(scratch))
    with Path(results).open("a") as file:

        def write(stage: Stage, verdict: Verdict) -> None:
            file.write(json.dumps({"stage": stage.id, **asdict(verdict)}) + "\n")
            file.flush()

        check_stages(lab, attempt, write)


if __name__ == "__main__":
    main()
