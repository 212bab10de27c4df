# SPDX-License-Identifier: Apache-2.0
"""tcpdump on one interface of a namespace."""

import os
import select
import shutil
import subprocess
import time
from pathlib import Path

from emulation.errors import MachineError, TestbedError
from emulation.linux.record import RunRecord

__all__ = ["start_capture"]

_SECONDS = 10.0
_RING_KIB = 8192


def start_capture(namespace: str, interface: str, path: Path, record: RunRecord) -> subprocess.Popen[bytes]:
    """Start a tcpdump of an interface to a pcap file; return it once it captures. End it by terminate()."""
    for tool, package in (("tcpdump", "tcpdump"), ("nsenter", "util-linux")):
        if shutil.which(tool) is None:
            raise MachineError(f"{tool} is not installed", remedy=f"install the package {package}")
    # -Z root: tcpdump otherwise drops root before it opens a file that may be in root's folder.
    process = subprocess.Popen(
        ["nsenter", f"--net=/run/netns/{namespace}", "tcpdump", "-i", interface, "-w", str(path),
         "-n", "-p", "-U", "--immediate-mode", "--time-stamp-precision=nano", "-s", "0",
         "-B", str(_RING_KIB), "-Z", "root"],
        env=record.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    told = _wait_listening(process)
    if "listening on" not in told:
        process.kill()
        process.wait()
        raise TestbedError(
            f"tcpdump on {interface} in {namespace} cannot write to {path}: {told.strip() or 'no output'}",
            remedy="see that the file can be written",
        )
    return process


def _wait_listening(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    told = b""
    deadline = time.monotonic() + _SECONDS
    while b"listening on" not in told and (left := deadline - time.monotonic()) > 0:
        if not select.select([process.stderr], [], [], left)[0]:
            break
        piece = os.read(process.stderr.fileno(), 4096)
        if not piece:
            break
        told += piece
    return told.decode(errors="replace")
