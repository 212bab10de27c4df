# SPDX-License-Identifier: Apache-2.0
"""The runner of PTF tests leaves no process behind when it is terminated."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[2]

STAND_IN = """\
import os, pathlib, time
pathlib.Path("pid.tmp").write_text(str(os.getpid()))
os.rename("pid.tmp", "pid")
time.sleep(600)
"""

RUNNER = """\
import sys
from pathlib import Path
from tests.differential.ptf.bench import Bench
from tests.differential.ptf.suites import Generator, Suite, SuiteError

directory = Path(sys.argv[1])
suite = Suite("none", directory / "none.p4", ())
if sys.argv[2] == "ptf":
    Bench(directory / "python", directory)._call_ptf(suite, directory, [], 600.0)
else:
    Generator(directory / "p4testgen", 1, 1).generate(suite.program, directory)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("which", ["ptf", "p4testgen"])
def test_a_terminated_runner_takes_its_child_with_it(which: str, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    (tmp_path / which).write_text(f"#!{sys.executable}\n{STAND_IN}")
    (tmp_path / which).chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path), which], cwd=tmp_path, env=environment
    )
    try:
        while not (tmp_path / "pid").exists():
            assert runner.poll() is None
            time.sleep(0.01)
        child = int((tmp_path / "pid").read_text())
        assert alive(child)
    finally:
        runner.terminate()
        runner.wait()
    deadline = time.monotonic() + SECONDS  # the kernel ends it as soon as it has a turn
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    if alive(child):
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child of the runner was left")
