# SPDX-License-Identifier: Apache-2.0
"""`railyard up` and `make shell`: what they tell a person, and the switch that a shell is connected to."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest

from emulation.mininet import machine
from emulation.mininet.net import Verb, command_line, make_net
from railyard.cli.fabrics.up_mininet import _instead_of_ping
from topologies import Fabric, TopologyError
from topologies.families.registry import build

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def shell(tmp_path: Path):
    """Calls scripts/shell.sh with a command that prints its arguments in the place of p4runtime-shell."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "shell.sh", tmp_path / "scripts")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    venv = tmp_path / "build" / "p4runtime-shell"
    (venv / "bin").mkdir(parents=True)
    (venv / "ready").touch()
    (venv / "bin" / "python").write_text('#!/bin/sh\necho "$@"\n')
    (venv / "bin" / "python").chmod(0o755)

    def call(*arguments: str) -> CompletedProcess[str]:
        command = ["bash", tmp_path / "scripts" / "shell.sh", *arguments]
        return run(command, capture_output=True, text=True, check=False)

    return call


@pytest.mark.parametrize(
    ("arguments", "device"),
    [
        (["127.0.0.1:9559"], 1),
        (["127.0.0.1:9559", "npu5"], 6),
        (["127.0.0.1:9559", "gpu08"], 9),
        (["127.0.0.1:9559", "70"], 70),
    ],
)
def test_a_shell_connects_to_the_device_of_its_node(shell, arguments: list[str], device: int):
    before = int(time.time())
    said = shell(*arguments).stdout.split()
    assert said[said.index("--device-id") + 1] == str(device)
    high, low = said[said.index("--election-id") + 1].split(",")
    assert high == "0"
    assert before <= int(low) <= time.time()


def test_a_shell_asks_the_fabric_for_the_id_of_a_switch(shell):
    if not (ROOT / ".venv" / "bin" / "railyard").exists():
        pytest.skip("the command is not installed in .venv: `make base`")
    said = shell("127.0.0.1:9559", "lrs0p0n3", "ub-rack-lrs").stdout.split()
    device = build("ub-rack-lrs").node("lrs0p0n3").device_id
    assert said[said.index("--device-id") + 1] == str(device)
    refused = shell("127.0.0.1:9559", "lrs0p0n3")
    assert refused.returncode == 2
    assert "TOPOLOGY=" in refused.stderr


@pytest.mark.parametrize("name", ["full-mesh", "ub-rack-lrs", "rail-only", "hpn", "lumos"])
def test_numbers_of_endpoints_are_their_device_ids_less_one(name: str):
    fabric = build(name, **({"dims": (2, 4)} if name == "full-mesh" else {}))
    named = [node for node in fabric.nodes if node.name[:3] in ("npu", "gpu")]
    assert [node.device_id for node in named] == [int(node.name[3:]) + 1 for node in named]


@pytest.fixture
def mesh() -> Fabric:
    return build("full-mesh", dims=(2, 2))


def test_mininets_ping_answers_with_commands_that_work(
    mesh: Fabric, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    if not machine._PLACE.is_dir():
        pytest.skip("Mininet is not installed: `make setup`")
    cut: list[tuple[str, bool]] = []
    net = make_net(
        mesh,
        {node.name: f"railyard-1-{node.name}" for node in mesh.nodes},
        "railyard-1-fabric",
        {
            (node.name, port.number): f"{node.name}-{port.number}"
            for node in mesh.nodes
            for port in node.ports
        },
        {},
        lambda link, up: cut.append((link, up)),
    )

    def twice(line: str) -> Iterator[str]:
        if not line:
            raise TopologyError("nothing to say", remedy="say something")
        yield from (line, line)

    def complete(line: str, begin: int, end: int) -> list[str]:
        return []

    script = tmp_path / "commands"
    script.write_text(
        "pingpair\nnpu0 ping npu3\niperf npu0 npu1\nlink npu0 npu1 down\ntwice a b\ntwice\nhelp twice\n"
    )
    with caplog.at_level(0, logger="mininet"):
        command_line(
            net, _instead_of_ping(net), str(script), {"twice": Verb(twice, "say it twice", complete)}
        )
    said = caplog.text
    assert said.count("craft npu0 npu3 --payload-bytes 64") == 3
    assert cut == [("npu0-npu1", False)]
    assert "a b\n" in said
    assert "*** nothing to say; say something" in said


def test_a_fabric_with_routes_of_another_strategy(railyard, monkeypatch: pytest.MonkeyPatch):
    plans = []
    monkeypatch.setattr("railyard.cli.fabrics.up._keep_embedded", lambda plan, *_, **__: plans.append(plan))
    fabric = ("hpn", "--param", "hosts=2", "--param", "rails=2", "--param", "aggs=1")
    assert railyard("up", *fabric, "--strategy", "hashed")[0] == 0
    assert railyard("up", *fabric)[0] == 0
    assert [plan.strategy for plan in plans] == ["hashed", "all-path"]
    code, _, err = railyard("up", *fabric, "--strategy", "hashed", "--no-controller")
    assert (code, "no routes are planned" in " ".join(err.split())) == (2, True)
    assert railyard("up", *fabric, "--strategy", "nonsense")[0] == 2
