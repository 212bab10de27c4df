# SPDX-License-Identifier: Apache-2.0
"""A fabric over several machines, which are namespaces here, each with its own sshd and /run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.cluster.lab import Lab, why_no_lab
from tests.emulation.mininet.commands import ROOT

reason = no_rights() or why_no_lab()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

HERE = Path(__file__).parent
SECONDS = 1800.0
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def railyard(lab: Lab, *words: str) -> list[str]:
    return lab.in_control([sys.executable, "-m", "railyard", *words])


def up(lab: Lab, *options: str, dims: str = "2x2") -> list[str]:
    fixed = ["--testbed", "mininet", "--switch", "builtin", "--machines", str(lab.file())]
    return railyard(lab, "up", "full-mesh", "--dims", dims, *fixed, *options)


def ring(*words: str) -> list[str]:
    return ["--ip", "--launch", " ".join([sys.executable, str(HERE / "ring.py"), *words])]


def run(command: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, " ".join(done.stderr.split())


@contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and end it if the test does not."""
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], word: str) -> None:
    """Read the output of a command until a line has `word`."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if word in line:
            return
    assert process.stderr is not None
    raise AssertionError(f"no {word!r} in {said} {process.stderr.read()}")


@pytest.mark.long
def test_an_allreduce_crosses_machines_and_nothing_is_left(tmp_path: Path) -> None:
    with Lab(tmp_path, 2) as lab:
        code, said, err = run(up(lab, *ring()))
        assert code == 0, said + err
        assert "2 of 4 links cross machines, each by a VXLAN tunnel" in said
        assert said.count("every sum of 4 ranks is right") == 4
        between = int(said.rpartition(" of them between machines")[0].rpartition(" ")[2])
        assert between > 0
        assert said.count("wall clock is") == 2
        assert lab.left() == []


@pytest.mark.long
def test_a_rack_on_four_machines_reduces_while_a_crossing_link_is_cut(tmp_path: Path) -> None:
    with Lab(tmp_path, 4) as lab:
        words = [str(lab.file()), "8x8", str(tmp_path / "stop"), str(HERE / "ring.py")]
        command = lab.in_control([sys.executable, str(HERE / "cut_a_link.py"), *words])
        code, said, err = run(command)
        assert code == 0, said + err
        assert said.count("every sum of 64 ranks is right") == 64
        assert said.index("cut npu") > said.index("sum is right")
        clocks = [line.split() for line in said.splitlines() if line.startswith("clock ")]
        assert len(clocks) == 4
        # All namespaces have the clock of this machine: the comparison must find no difference.
        assert all(abs(int(offset)) <= int(within) for _, offset, within in clocks)
        assert lab.left() == []


@pytest.mark.long
def test_a_machine_whose_sshd_is_killed_ends_the_run_loudly(tmp_path: Path) -> None:
    with Lab(tmp_path, 2) as lab:
        with running(up(lab, *ring(str(tmp_path / "never")))) as process:
            until(process, "sum is right")
            lab.kill_sshd("b")
            _, err = process.communicate(timeout=SECONDS)
            assert process.returncode not in (0, None)
        assert "machine b: the connection has ended" in " ".join(err.split())
        # The part has removed itself; the record stays until machine b confirms that.
        assert lab.left_settled() == []
        assert [line.split(":")[0] for line in lab.left_now()] == ["control"]
        code, _, err = run(railyard(lab, "clean"))
        assert code == 1
        lab.start_sshd("b")
        code, said, err = run(railyard(lab, "clean"))
        assert code == 0, said + err
        assert lab.left() == []


@pytest.mark.long
@pytest.mark.parametrize("victim", ["part", "switch"])
def test_a_process_that_is_killed_on_a_machine_ends_the_run_loudly(tmp_path: Path, victim: str) -> None:
    with Lab(tmp_path, 2) as lab:
        with running(up(lab, *ring(str(tmp_path / "never")))) as process:
            until(process, "sum is right")
            word = {"part": "emulation.mininet.cluster.part", "switch": "emulation.switchd.command"}[victim]
            os.kill(lab.process("b", word), signal.SIGKILL)
            _, err = process.communicate(timeout=SECONDS)
            assert process.returncode not in (0, None)
        assert "machine b: " in " ".join(err.split())
        assert lab.left() == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("moment", ["", "wall clock", "sum is right"])
def test_the_end_of_the_controlling_process_leaves_nothing(
    tmp_path: Path, number: signal.Signals, moment: str
) -> None:
    with Lab(tmp_path, 2) as lab:
        with running(up(lab, *ring(str(tmp_path / "never")))) as process:
            if moment:
                until(process, moment)
            else:
                lab.await_part("b")
            os.kill(process.pid, number)
            process.communicate(timeout=SECONDS)
        assert lab.left_settled() == []
        code, said, err = run(railyard(lab, "clean"))
        assert code == 0, said + err
        assert lab.left() == []


@pytest.mark.long
def test_machines_are_checked_before_anything_starts(tmp_path: Path) -> None:
    with Lab(tmp_path, 2, mtu=1500) as lab:
        code, _, err = run(up(lab))
        assert code == 3
        assert (
            "machine a: wire, towards machine b, has an MTU of 1500: a link of 10240 bytes needs 10290" in err
        )
        lab.kill_sshd("b")
        code, _, err = run(up(lab))
        assert code == 3
        assert "machine b: the connection has ended" in err
        assert "Connection refused" in err
        lab.start_sshd("b")
        code, said, err = run(railyard(lab, "clean"))
        assert code == 0, said + err
        assert lab.left() == []


def test_machines_are_for_mininet(tmp_path: Path) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(json.dumps({"machines": []}))
    command = [sys.executable, "-m", "railyard", "up", "full-mesh", "--machines", str(file)]
    code, _, err = run(command)
    assert code == 2
    assert "needs --testbed mininet" in err.replace("│ ", "")
