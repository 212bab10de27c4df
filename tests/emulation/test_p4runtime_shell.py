# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime client that knows nothing of this project: p4runtime-shell, from a venv of its own."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.p4runtime import P4RuntimeClient, ProgramFiles
from emulation._engine import Network
from emulation.p4runtime_server import P4RuntimeServer
from tests.emulation.ub_frames import UbFrame
from tests.emulation.ub_reference import ENTRIES

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "p4" / "build"
# Where scripts/shell.sh keeps it: its protobuf is older than the project's.
VENV = ROOT / "build" / "p4runtime-shell"

# What a person would type. Aliases of the p4info serve as names.
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
    files = ProgramFiles((BUILD / "ub_npu.json").read_bytes(), (BUILD / "ub_npu.p4info.txtpb").read_bytes())
    network = Network()
    devices = {f"npu{index}": index + 1 for index in range(8)}
    switches = {device: network.add_switch(node) for node, device in devices.items()}
    server = P4RuntimeServer(network, switches, lock=threading.RLock())
    try:
        address = server.start()
        with P4RuntimeClient(address) as client:
            client.connect(devices)
            client.push_pipeline(dict.fromkeys(devices, files))
            client.install(dict.fromkeys(devices, ENTRIES))
            yield network, address
    finally:
        server.stop()


def test_lists_tables_reads_an_entry_and_changes_forwarding(
    shell: list[str], rack: tuple[Network, str], tmp_path: Path
) -> None:
    network, address = rack
    frame = UbFrame(0x0A, scna=9).packed()  # to x = 2 of the own row, which is index 2
    assert network.process(5, 0, frame) == [(2, frame)]

    done = subprocess.run(
        [*shell, "--grpc-addr", address, "--device-id", "6", "--election-id", "0,2"],
        input=SESSION,
        text=True,
        capture_output=True,
        timeout=120,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        check=True,
    )
    for table in ("all_path", "arrival", "departure", "linear", "segment", "vl_turn"):
        assert f".{table}\n" in done.stdout
    assert "ROUTES 5" in done.stdout
    assert re.findall(r"PORT (\d+)", done.stdout) == ["2", "3"]
    assert network.process(5, 0, frame) == [(3, frame)]
    assert network.process(4, 0, frame) == [(2, frame)]  # npu4 is untouched
