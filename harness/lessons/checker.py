# SPDX-License-Identifier: Apache-2.0
"""Check all stages of a student's folder in a separate process with a time limit.

    python -m harness.lessons.checker <REQUEST

The process reads a request from standard input. After each stage it writes a line of JSON to standard output,
so that a stage without end loses only its own verdict and the verdicts of later stages. Request and verdicts
go through pipes: a student's code finds neither the seed nor a file of verdicts.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import secrets
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from harness.errors import LabError, MissingProgramError
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, unchecked
from harness.lessons.catalogue import Lab, Stage, find_lab
from harness.lessons.confined.run import PRINTED
from harness.lessons.folder import copy_for_check
from topologies.errors import RailyardError

__all__ = ["check_folder", "check_stages", "draw_seed"]

# Limit on the address space of the checking process; the testbeds of the labs need a tenth of it.
_MEMORY_BYTES = 8 << 30
# Longest text of a verdict in characters; a text may quote a student's code.
_LONGEST = 2_000

OnVerdict = Callable[[Stage, Verdict], None]


def draw_seed() -> int:
    """Return a new, unpredictable seed."""
    return secrets.randbelow(2**31)


def check_folder(
    folder: Path,
    lab: Lab,
    seed: int,
    *,
    on_verdict: OnVerdict = lambda stage, verdict: None,
    on_printed: Callable[[str], None] = lambda text: None,
) -> dict[str, Verdict]:
    """Check a copy of a student's folder; return the verdict of each stage in order.

    Args:
        folder: The student's folder, which does not change.
        lab: The lab of the folder.
        seed: Random seed of the check, such as a result of `draw_seed`.
        on_verdict: Called with each stage and its verdict as soon as the stage ends.
        on_printed: Called at the end with what the student's code printed; not if it printed nothing.
    """
    with TemporaryDirectory(prefix="lab-check-") as name:
        scratch = Path(name)
        copy = scratch / "copy"
        refused = copy_for_check(folder, lab, copy)
        (scratch / "run").mkdir()
        request = {
            "lab": lab.name,
            "copy": str(copy),
            "seed": seed,
            "scratch": str(scratch / "run"),
            "refused": refused,
        }
        with (scratch / "err.txt").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-I", "-m", "harness.lessons.checker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                start_new_session=True,
            )
            verdicts: dict[str, Verdict] = {}
            try:
                for line in _lines(process, json.dumps(request), lab.check_seconds):
                    content = json.loads(line)
                    stage = lab.stage(content.pop("stage"))
                    verdicts[stage.id] = Verdict(**content)
                    on_verdict(stage, verdicts[stage.id])
            finally:
                _end(process)
        printed = scratch / "run" / PRINTED
        if printed.is_file():
            on_printed(printed.read_text(encoding="utf-8"))
        why = (scratch / "err.txt").read_text(errors="replace").strip().splitlines()
    for stage in lab.stages:
        if stage.id not in verdicts:
            verdict = verdicts[stage.id] = _without_verdict(lab, process.returncode, why)
            on_verdict(stage, verdict)
    return verdicts


def _lines(process: subprocess.Popen[bytes], request: str, seconds: float) -> Iterator[bytes]:
    """Send the request to the process, and yield the lines of its output until it ends or time runs out."""
    given, taken = process.stdin, process.stdout
    assert given is not None
    assert taken is not None
    with contextlib.suppress(BrokenPipeError), given:
        given.write(request.encode())
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        with taken:
            for line in taken:
                lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    until = time.monotonic() + seconds
    with contextlib.suppress(queue.Empty, subprocess.TimeoutExpired):
        while line := lines.get(timeout=max(0.0, until - time.monotonic())):
            yield line
        # The process has closed its output, so it is about to end by itself, with an exit code of its own.
        process.wait(max(0.0, until - time.monotonic()))


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
    """Check all stages of a lab in this process; a stage is checked even if earlier stages fail."""
    file = lab.folder / "check.py"
    try:
        module = _load(file)
    except Exception as ex:
        for stage in lab.stages:
            on_verdict(stage, _printable(_of_check(file, stage, ex, lab.files)))
        return
    for stage in lab.stages:
        if lacking := stage.lacking():
            on_verdict(stage, unchecked(stage.title, lacking))
            continue
        try:
            verdict: Verdict = getattr(module, stage.check)(attempt)
        except StudentError as ex:
            verdict = failed(stage.title, ex.observed, ex.look)
        except MissingProgramError as ex:
            verdict = unchecked(stage.title, str(ex))
        except RailyardError as ex:
            verdict = failed(stage.title, str(ex), ", ".join(lab.files))
        except MemoryError:
            verdict = failed(stage.title, "the check ran out of memory", "the size of tables and answers")
        except Exception as ex:
            verdict = _of_check(file, stage, ex, lab.files)
        on_verdict(stage, _printable(verdict))


def _of_check(file: Path, stage: Stage, ex: Exception, files: Sequence[str]) -> Verdict:
    """Return the verdict of a stage whose check raises an exception, by a mistake of its own or an answer."""
    lines = [frame.lineno for frame in traceback.extract_tb(ex.__traceback__) if frame.filename == str(file)]
    line = ex.lineno if isinstance(ex, SyntaxError) else lines[-1] if lines else None
    where = f"{file.parent.name}/{file.name}{f' line {line}' if line else ''}"
    observed = f"the check of this stage failed, in {where}: {type(ex).__name__}: {ex}"
    look = f"the form of what is in {', '.join(files)}; if that is right, report this to your teacher"
    return failed(stage.title, observed, look)


def _load(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"check_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise LabError(f"{path} cannot be loaded as a Python file", remedy="install Railyard anew")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _printable(verdict: Verdict) -> Verdict:
    """Return a verdict with short, printable texts: they may quote control characters of a student's code."""
    texts = (verdict.expected, verdict.observed, verdict.look)
    shown = ("".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST]) for text in texts)
    return Verdict(verdict.passed, *shown, checked=verdict.checked)


def main() -> None:
    """Check the folder in the request on standard input, and write the verdicts to standard output."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    # Standard output is for verdicts only; output of a check or a library goes to standard error.
    with os.fdopen(os.dup(1), "w") as answer:
        os.dup2(2, 1)
        lab = find_lab(request["lab"])
        attempt = Attempt(
            lab, Path(request["copy"]), request["seed"], Path(request["scratch"]), request["refused"]
        )

        def write(stage: Stage, verdict: Verdict) -> None:
            answer.write(json.dumps({"stage": stage.id, **asdict(verdict)}) + "\n")
            answer.flush()

        check_stages(lab, attempt, write)


if __name__ == "__main__":
    main()
