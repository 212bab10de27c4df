# SPDX-License-Identifier: Apache-2.0
"""A railyard-switchd in a network namespace of its own, with a raw socket at the far end of every port.

The namespace has no name: it lives in a thread that enters it and in what that thread starts, and is gone
with them, even when this process is killed.
"""

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from emulation.namespace import enter_new_namespace

__all__ = ["SwitchdProcess", "missing_rights", "on_interfaces", "ports"]

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 120.0
LIFETIME = 600.0
MTU = 9500
_ETH_P_ALL = 3
_PACKET_AUXDATA, _SOL_PACKET = 8, 263


def missing_rights() -> str:
    """Return the reason why no namespace can be made; empty when a namespace can."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            thread.submit(enter_new_namespace).result()
        except OSError as error:
            return str(error)
    return ""


no_rights = missing_rights()
on_interfaces = pytest.mark.skipif(bool(no_rights), reason=no_rights)


class SwitchdProcess:
    """`near` are the names of the switch's interfaces, s0 and so on; h0 and so on are their far ends."""

    def __init__(self, interfaces: int, directory: Path) -> None:
        self.near = tuple(f"s{number}" for number in range(interfaces))
        self.address = f"unix:{directory / 'p4runtime.sock'}"
        self._directory = directory
        self._sockets: dict[int, socket.socket] = {}
        # Whoever stays in the namespace must be one thread from beginning to end.
        self._inside = ThreadPoolExecutor(max_workers=1)
        self.process: subprocess.Popen[str] | None = None
        self._watchdog: threading.Timer | None = None

    def __enter__(self) -> Self:
        self._inside.submit(self._make).result()
        return self

    def __exit__(self, *_: object) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for raw in self._sockets.values():
            raw.close()
        self._inside.shutdown()

    def _make(self) -> None:
        enter_new_namespace()
        for number in range(len(self.near)):
            self._add_link(number)

    def _add_link(self, number: int) -> None:
        node, neighbour, mtu = f"s{number}", f"h{number}", str(MTU)
        _run("ip", "link", "add", node, "mtu", mtu, "type", "veth", "peer", "name", neighbour, "mtu", mtu)
        for end in (node, neighbour):
            _run("ip", "link", "set", end, "up")
        self._open(number)

    def _open(self, number: int) -> None:
        if number in self._sockets:
            self._sockets.pop(number).close()
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        raw.bind((f"h{number}", 0))
        raw.settimeout(SECONDS)
        self._sockets[number] = raw

    def add_link(self, number: int) -> None:
        """Make a veth pair that is not there."""
        self._inside.submit(self._add_link, number).result()

    def add_far_end(self, number: int) -> None:
        """Open the far end anew, after it was down."""
        self._inside.submit(self._open, number).result()

    def ip(self, *arguments: str) -> None:
        """Run `ip` in the namespace."""
        self._inside.submit(_run, "ip", *arguments).result()

    def start(self, *arguments: str) -> None:
        """Start the switch with these arguments and its server's address; returns once it is ready."""
        self._inside.submit(self._start, arguments).result()
        assert self.process is not None
        assert self.process.stdout is not None
        told = ""
        for line in self.process.stdout:
            told += line
            if line.startswith("Server listening"):
                return
        raise AssertionError(f"railyard-switchd ended with {self.process.wait()}: {told}")

    def _start(self, arguments: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "emulation.switchd.command",
                *arguments,
                "--",
                "--grpc-server-addr",
                self.address,
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        # What hangs ends here, and the test that waits for it with it.
        self._watchdog = threading.Timer(LIFETIME, self.process.kill)
        self._watchdog.start()

    def wait_for(self, *words: str) -> str:
        """The next line of the switch's log that holds all of these."""
        assert self.process is not None
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if all(word in line for word in words):
                return line
        raise AssertionError(f"the switch ended without a line about {words}")

    def send(self, number: int, frame: bytes) -> None:
        """Put a frame of at least 14 bytes on the far end of an interface."""
        self._sockets[number].send(frame)

    def receive(self, number: int, seconds: float = SECONDS) -> bytes:
        """The next frame at the far end, its VLAN tag put back; TimeoutError when none comes."""
        raw = self._sockets[number]
        raw.settimeout(seconds)
        frame, ancillary, _, _ = raw.recvmsg(65535, 1024)
        for level, kind, data in ancillary:
            status = int.from_bytes(data[0:4], sys.byteorder)
            if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA) and status & 0x10:
                tci, tpid = (int.from_bytes(data[at : at + 2], sys.byteorder) for at in (16, 18))
                frame = frame[:12] + tpid.to_bytes(2) + tci.to_bytes(2) + frame[12:]
        return frame

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Signal the switch; its exit code, and what it still told."""
        assert self.process is not None
        self.process.send_signal(number)
        told, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, told


def ports(process: SwitchdProcess) -> list[str]:
    return [part for number, name in enumerate(process.near) for part in ("-i", f"{number + 1}@{name}")]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
