# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell drives a running fabric: the session of docs/testbeds/p4runtime.md."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from harness.frames.craft import Order, craft
from harness.run.boot import booted
from topologies import HOST_PORT, ub_rack

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "testbeds" / "p4runtime.md"
PROMPT = "P4Runtime sh >>> "


def typed() -> list[str]:
    """Return the lines that the guide types at the prompt, in order."""
    return [line.removeprefix(PROMPT) for line in GUIDE.read_text().splitlines() if line.startswith(PROMPT)]


@contextmanager
def serving(testbed: EmbeddedTestbed) -> Iterator[str]:
    """Run a started testbed as `railyard up` does, and yield its address."""
    stopped = threading.Event()
    thread = threading.Thread(target=testbed.serve, args=(stopped,))
    thread.start()
    try:
        yield testbed.address
    finally:
        stopped.set()
        thread.join()


def shell(address: str, node: str, *lines: str) -> str:
    """Type lines into the shell of a switch, and return the shell's output."""
    done = subprocess.run(
        [ROOT / "scripts" / "shell.sh", address, node],
        input="\n".join([*lines, "exit", ""]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_session_of_the_guide_reads_a_route_and_changes_it():
    if not (ROOT / ".venv" / "bin" / "railyard").exists():
        pytest.skip("scripts/shell.sh takes Python from .venv: `make base`")
    fabric = ub_rack()
    plan = make_plan(fabric)
    frame = bytes(craft(fabric, Order("npu5", "npu9", bucket=0, payload=b"x")))
    testbed = EmbeddedTestbed(fabric, grpc_address="127.0.0.1:0")

    def egress() -> int:
        """Return the port by which npu5 sends the frame."""
        ((port, _),) = testbed.network.process(fabric.node("npu5").index, HOST_PORT, frame)
        return port

    with booted(testbed, plan) as running:
        before = egress()
        assert before == fabric.port_to("npu5", "npu1")
        # A shell takes over from the client that filled the tables.
        running.client.close()
        with serving(testbed) as address:
            said = shell(address, "npu5", *typed(), "te.read(lambda entry: print(entry))")
        assert egress() == fabric.port_to("npu5", "npu13") == 8
    text = said.replace("\\\\", "\\")
    for table in re.findall(r"`(\w+)`", GUIDE.read_text().partition("`tables` lists")[2].partition(".")[0]):
        assert f".{table}" in text
    # The entry is read before the change and after it.
    routes = re.findall(r'param_id: 2 \("instr"\)\s+value: "([^"]+)"', text)
    assert len(routes) >= 2
    assert routes[0] != routes[-1] == r"\x08\x02\x00\x00\x00\x00"


def test_the_guide_types_what_the_test_needs():
    lines = typed()
    assert lines[0] == "tables"
    assert lines[-1] == "te.modify()"
