# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime client that knows nothing of this project: p4runtime-shell, from a venv of its own."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.p4runtime.client import P4RuntimeClient
from controller.paths.source_route import pack
from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from tests.emulation.programs.ub_frames import UbFrame
from tests.emulation.programs.ub_reference import NPU
from topologies import ub_rack

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
# Where scripts/shell.sh keeps it: its protobuf is older than the project's.
VENV = ROOT / "build" / "p4runtime-shell"

# What a person would type on `railyard up`: where do frames of bucket 0 to npu9 leave npu5, before and after?
LIVE_SESSION = """
te = table_entry["all_path"](action="push_route")
te.match["dcna"] = "9"
te.match["bucket"] = "0"
te.read(lambda entry: print("WAS", entry.action["instr"].value.hex()))
out = packet_out(payload=bytes.fromhex("{frame}"))
out.metadata["egress_port"] = "0"
out.metadata["routed"] = "1"
out.send()
count = counter_entry["tx_by_port_vl"]
count.index = {old} * 4
print("OLD", next(c.packet_count for _ in range(9999) for c in count.read() if c.packet_count))
te.action["bitmap"] = "0b110000000000"
te.action["instr"] = "{instr}"
te.modify()
out.send()
count.index = {new} * 4
print("NEW", next(c.packet_count for _ in range(9999) for c in count.read() if c.packet_count))
count.index = {old} * 4
count.read(lambda c: print("OLD", c.packet_count))
exit
"""

# Aliases of the p4info serve as names.
SESSION = """
tables
te = table_entry["all_path"]
print("ROUTES", sum(1 for _ in te.read()))
te = table_entry["linear"](action="set_port")
te.match["index"] = "2"
te.read(lambda entry: print("PORT", entry.action["port"].value[0]))
te.action["port"] = "3"
te.modify()
te.read(lambda entry: print("PORT", entry.action["port"].value[0]))
exit
"""


@pytest.fixture
def shell() -> list[str]:
    """The command, installed on first use."""
    python, ready = VENV / "bin" / "python", VENV / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "p4runtime-shell<0.1",
        ]
        done = subprocess.run(pip, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"p4runtime-shell cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
        ready.touch()
    return [str(python), "-m", "p4runtime_sh"]


@pytest.fixture
def rack() -> Iterator[tuple[Network, str]]:
    """Eight switches that run ub_npu, device ids 1 to 8, and the address of their server."""
    network = Network()
    devices = {f"npu{index}": index + 1 for index in range(8)}
    switches = {device: network.add_switch(node) for node, device in devices.items()}
    server = P4RuntimeServer(network, switches, lock=threading.RLock())
    try:
        address = server.start()
        with P4RuntimeClient(address) as client:
            client.connect(devices)
            client.push_pipeline(dict.fromkeys(devices, NPU.files))
            client.install(dict.fromkeys(devices, NPU.entries))
            yield network, address
    finally:
        server.stop()


def type_into(shell: list[str], address: str, session: str, home: Path) -> subprocess.CompletedProcess[str]:
    """A session on npu5."""
    return subprocess.run(
        [*shell, "--grpc-addr", address, "--device-id", "6", "--election-id", "0,2"],
        input=session,
        text=True,
        capture_output=True,
        timeout=120,
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        check=True,
    )


def test_lists_tables_reads_an_entry_and_changes_forwarding(
    shell: list[str], rack: tuple[Network, str], tmp_path: Path
) -> None:
    network, address = rack
    frame = UbFrame(0x0A, scna=9).packed()  # to x = 2 of the own row, which is index 2
    assert network.process(5, 0, frame) == [(2, frame)]

    done = type_into(shell, address, SESSION, tmp_path)
    for table in ("all_path", "arrival", "departure", "linear", "segment", "vl_turn"):
        assert f".{table}\n" in done.stdout
    assert "ROUTES 5" in done.stdout
    assert re.findall(r"PORT (\d+)", done.stdout) == ["2", "3"]
    assert network.process(5, 0, frame) == [(3, frame)]
    assert network.process(4, 0, frame) == [(2, frame)]  # npu4 is untouched


def test_changes_forwarding_of_a_running_fabric(shell: list[str], tmp_path: Path) -> None:
    """`railyard up` as a process of its own; the switch's counters tell which port its frames take."""
    program = "from railyard.cli import main; main()"
    command = [sys.executable, "-c", program, "up", "ub-rack", "--grpc", "127.0.0.1:0"]
    up = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert up.stdout is not None
        address = next(line.split()[-1] for line in up.stdout if line.startswith("P4Runtime:"))
        rack = ub_rack()
        planned = rack.port_to("npu5", "npu1"), rack.port_to("npu1", "npu9")
        other = rack.port_to("npu5", "npu13"), rack.port_to("npu13", "npu9")
        session = LIVE_SESSION.format(
            frame=UbFrame(rack.node("npu9").address, scna=rack.node("npu5").address).packed().hex(),
            instr=hex(pack(other)[1]),
            old=planned[0],
            new=other[0],
        )
        done = type_into(shell, address, session, tmp_path)
    finally:
        up.send_signal(signal.SIGINT)
        assert up.wait(timeout=300) == 0
    assert re.findall(r"WAS (\w+)", done.stdout) == [f"{pack(planned)[1]:012x}"]
    assert re.findall(r"(OLD|NEW) (\d+)", done.stdout) == [("OLD", "1"), ("NEW", "1"), ("OLD", "1")]
