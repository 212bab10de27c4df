# SPDX-License-Identifier: Apache-2.0
"""Runs in real time that are killed, interrupted, fail or cannot begin: none leaves anything behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from emulation.linux import kernel
from emulation.mininet import machine as mininet_machine
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS, ROOT, Command, Machine, railyard
from tests.emulation.mininet.foreign import Foreign

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

Refused = Callable[..., tuple[int, str, str]]

KILLS = int(os.environ.get("RAILYARD_KILLS", "5"))
"""Number of runs that are killed, for each kind of switch."""
STAGES = ("", "starting", "filling tables", "running")
"""Words of a run's progress after which it is killed, in turn; the empty word stands for its beginning."""
SPREAD = 1.0
"""Most seconds between such a word and the kill."""

SWITCHES = {"builtin": "emulation.switchd.command", "bmv2": "simple_switch_grpc"}

SHORT = """\
name: short
topology: {name: full-mesh, dims: [2, 2], lane_rate_gbps: 100}
collective: {elements: 16384}
faults: [{at_us: 0.3, link: npu0-npu1}]
"""
LONG = SHORT.replace("16384", "1048576")


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Foreign]:
    with Foreign(tmp_path) as foreign:
        yield foreign


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(LONG)
    return path


def options(kind: str) -> list[str]:
    return ["--testbed", "mininet", "--switch", kind, "--out", "out"]


# -- ended from outside


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_killed_at_any_moment_is_cleaned_up_after(
    tmp_path: Path, file: Path, foreign: Foreign, kind: str
) -> None:
    chance = random.Random(f"kills {kind}")
    machine = Machine(tmp_path)
    cleaned = ""
    for turn in range(KILLS):
        stage, moment = STAGES[turn % len(STAGES)], SPREAD * chance.random()
        with Command(["run", file, *options(kind), "--pcap", "npu0-npu2"], tmp_path) as command:
            if stage:
                command.until(stage)
            time.sleep(moment)
            command.process.kill()
            command.end()
            code, said, err = railyard(tmp_path, "clean")
            assert code == 0, said + err
            cleaned += said
            foreign.check()
            assert machine.left() == [], f"{moment:.3f} s after {stage!r}; clean said {said}"
    for thing in ("namespace", "folder"):
        assert f"removed {thing} " in cleaned


@pytest.mark.long("starting-2-130-builtin", "running-15-143-builtin")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("stage", "number", "expected"),
    [
        ("starting", signal.SIGINT, 130),
        ("filling tables", signal.SIGINT, 130),
        ("running", signal.SIGTERM, 143),
    ],
)
def test_a_run_that_is_asked_to_end_takes_all_away(
    tmp_path: Path, file: Path, foreign: Foreign, kind: str, stage: str, number: signal.Signals, expected: int
) -> None:
    machine = Machine(tmp_path)
    with Command(["run", file, *options(kind), "--pcap", "npu0-npu1"], tmp_path) as command:
        command.until(stage)
        if number is signal.SIGINT:  # as the terminal does: everyone gets it
            os.killpg(command.process.pid, number)
        else:
            command.process.send_signal(number)
        code, said, err = command.end()
        assert (code, said) == (expected, ""), err
        assert "Traceback" not in err
        assert "error" not in err
        foreign.check()
        assert machine.left() == []


@pytest.mark.long("filling tables-9-builtin")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("stage", "number"), [("filling tables", signal.SIGKILL), ("running", signal.SIGABRT)]
)
def test_a_switch_that_dies_is_named_with_its_last_words(
    tmp_path: Path, file: Path, kind: str, stage: str, number: signal.Signals
) -> None:
    machine = Machine(tmp_path)
    with Command(["run", file, *options(kind)], tmp_path) as command:
        command.until(stage)
        switches = command.members(SWITCHES[kind], "--grpc-server-addr")
        assert len(switches) == (4 if kind == "bmv2" else max(1, min(4, (os.cpu_count() or 1) // 2)))
        os.kill(switches[-1], number)
        code, said, err = command.end()
        assert (code, said) == (2, ""), err
        assert "Traceback" not in err
        name = "npu" if kind == "bmv2" else "switchd"
        assert f"error: the switch process {name}" in err
        assert f"has ended with code {-number}: " in err
        assert "Server listening on" in err or kind == "bmv2"
        assert machine.left() == []


# -- never begun


def test_without_root() -> None:
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    looked = subprocess.run(
        [*nobody, sys.executable, "-c", "import railyard.cli"], cwd=ROOT, capture_output=True, check=False
    )
    if looked.returncode:
        pytest.skip("who is not root may not read this clone")
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        machine = Machine(folder)
        folder.chmod(0o777)
        (folder / "scenario.yaml").write_text(SHORT)
        code, said, err = railyard(
            folder,
            "run",
            "scenario.yaml",
            *options("builtin"),
            before=nobody,
            environment={"HOME": name},
        )
        assert (code, said) == (3, ""), err
        assert "needs root; call with sudo, or use --testbed embedded" in err
        assert "Traceback" not in err
        assert "starting" not in err
        assert not (folder / "out").exists()
        assert machine.left() == []


def test_without_what_it_takes(
    refused: Refused, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    path = os.environ["PATH"]
    for kind, told, programs, mininet in (
        ("bmv2", r"simple_switch_grpc is not installed; install p4lang-bmv2", str(empty), None),
        ("builtin", "is not installed; `make lab-setup` installs it", str(empty), None),
        ("builtin", "Mininet is not installed; `make lab-setup` installs it", path, Path("/none")),
    ):
        monkeypatch.setenv("PATH", programs)
        if mininet is not None:
            monkeypatch.setattr(mininet_machine, "_PLACE", mininet)
            for name in [name for name in sys.modules if name.partition(".")[0] == "mininet"]:
                monkeypatch.delitem(sys.modules, name)
        code, said, err = refused("run", file, *options(kind))
        assert (code, said) == (3, ""), err
        assert told in err
        assert "starting" not in err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("testbed", ["embedded", "mininet"])
def test_a_capture_of_a_link_that_there_is_not(
    refused: Refused, tmp_path: Path, file: Path, testbed: str
) -> None:
    code, said, err = refused("run", file, "--testbed", testbed, "--pcap", "npu0-npu9", "--out", "out")
    assert (code, said) == (2, ""), err
    assert "no link named 'npu0-npu9'" in err
    assert "starting" not in err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not reason and kernel.NETEM not in kernel.missing(), reason="the kernel has netem")
def test_a_delay_that_the_kernel_cannot_do_is_refused_at_once(refused: Refused, file: Path) -> None:
    file.write_text(
        SHORT.replace("link: npu0-npu1}", "link: npu0-npu1, event: delay, add_ns: 100}")
        + "variants: [{name: well, faults: []}, {name: slow}]\n"
    )
    code, said, err = refused("run", file, *options("builtin"))
    assert (code, said) == (3, ""), err
    assert "sch_netem (CONFIG_NET_SCH_NETEM), for the delay of a link" in err
    assert "modprobe" in err
    assert "starting" not in err
