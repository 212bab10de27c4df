# SPDX-License-Identifier: Apache-2.0
"""One simple_switch_grpc in a network namespace of its own, with a raw socket on every port.

The namespace has no name: it lives in a thread that enters it and in what that thread starts, and is gone
with them, even when this process is killed.
"""

import ctypes
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from controller import InstallError
from controller.p4runtime import P4RuntimeClient

__all__ = ["CPU_PORT", "NODE", "Bmv2"]

CPU_PORT = 510
NODE = "bmv2"

_ETH_P_ALL = 3
_CLONE_NEWNET = 0x40000000
_START_SECONDS = 20.0
_SOCKET_BYTES = 8 << 20
# The longest UB packet is 10,240 bytes.
_MTU = "11000"


class Bmv2:
    """A switch that runs nothing yet; `client` is its primary controller, under the node name NODE."""

    def __init__(self, ports: Sequence[int], directory: Path) -> None:
        self._ports = tuple(ports)
        self._directory = directory
        self._sockets: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._process: subprocess.Popen[bytes] | None = None
        # Whoever stays in the namespace must be one thread from beginning to end: the switch dies with it.
        self._inside = ThreadPoolExecutor(max_workers=1)
        self.client = P4RuntimeClient(f"unix:{directory / 'p4runtime.sock'}", timeout=20.0)

    def __enter__(self) -> Self:
        try:
            self._inside.submit(self._start).result()
            self._connect()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        """In the thread that enters the namespace; sockets stay in it, children are born in it."""
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"a new network namespace: {os.strerror(ctypes.get_errno())}")
        # Without IPv6 the kernel sends nothing of its own on these links.
        ipv6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
        if ipv6.exists():
            ipv6.write_text("1")
        for port in self._ports:
            near, far = f"s{port}", f"h{port}"
            _run("ip", "link", "add", near, "mtu", _MTU, "type", "veth", "peer", "name", far, "mtu", _MTU)
            for end in (near, far):
                _run("ip", "link", "set", end, "up")
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            self._sockets[port] = raw
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
            raw.bind((far, 0))
            raw.setblocking(False)
            self._selector.register(raw, selectors.EVENT_READ, port)
        interfaces = [part for port in self._ports for part in ("-i", f"{port}@s{port}")]
        with (self._directory / "simple_switch_grpc.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", "simple_switch_grpc", *interfaces),
                    *("--device-id", "1", "--no-p4", "--"),
                    *("--grpc-server-addr", f"unix:{self._directory / 'p4runtime.sock'}"),
                    *("--cpu-port", str(CPU_PORT), "--priority-queues", "8"),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _connect(self) -> None:
        """Until the switch answers, or has ended."""
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.client.connect({NODE: 1})
                return
            except InstallError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log = (self._directory / "simple_switch_grpc.log").read_text(errors="replace")
                    raise RuntimeError(f"simple_switch_grpc did not start:\n{log[-2000:]}") from None
                time.sleep(0.02)

    def send(self, port: int, frame: bytes) -> None:
        """Put a frame of at least 14 bytes on a port; the kernel takes none shorter."""
        self._sockets[port].send(frame)

    def receive(self, seconds: float) -> list[tuple[int, bytes]]:
        """Frames that have come out of any port, waiting up to `seconds` for the first."""
        frames: list[tuple[int, bytes]] = []
        for key, _ in self._selector.select(seconds):
            raw = key.fileobj
            assert isinstance(raw, socket.socket)
            while True:
                try:
                    frames.append((key.data, raw.recv(65535)))
                except BlockingIOError:
                    break
        return frames

    def stop(self) -> None:
        """End the process and, with it, the namespace and its links."""
        self.client.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=10)
            self._process = None
        for raw in self._sockets.values():
            raw.close()
        self._selector.close()
        self._inside.shutdown()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
