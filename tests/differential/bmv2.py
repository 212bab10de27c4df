"""One simple_switch_grpc in a network namespace of its own, with a raw socket on every port.

Everything it makes is named after this process and this switch, and `stop` removes exactly that.
"""

import ctypes
import itertools
import os
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
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
_numbers = itertools.count()


class Bmv2:
    """A switch that runs nothing yet; `client` is its primary controller, under the node name NODE."""

    def __init__(self, ports: Sequence[int], directory: Path) -> None:
        self._namespace = f"railyard-{os.getpid()}-{next(_numbers)}"
        self._ports = tuple(ports)
        self._directory = directory
        self._sockets: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._process: subprocess.Popen[bytes] | None = None
        self.client = P4RuntimeClient(f"unix:{directory / 'p4runtime.sock'}", timeout=20.0)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        _run("ip", "netns", "add", self._namespace)
        # Without IPv6 the kernel sends nothing of its own on these links.
        self._inside("sysctl", "-q", "-w", "net.ipv6.conf.default.disable_ipv6=1")
        self._inside("ip", "link", "set", "lo", "up")
        for port in self._ports:
            ends = f"s{port}", f"h{port}"
            self._inside(
                "ip",
                "link",
                "add",
                ends[0],
                "mtu",
                _MTU,
                "type",
                "veth",
                "peer",
                "name",
                ends[1],
                "mtu",
                _MTU,
            )
            for end in ends:
                self._inside("ip", "link", "set", end, "up")
        self._open_sockets()
        log = (self._directory / "simple_switch_grpc.log").open("wb")
        interfaces = [part for port in self._ports for part in ("-i", f"{port}@s{port}")]
        self._process = subprocess.Popen(
            [
                *("ip", "netns", "exec", self._namespace, "simple_switch_grpc", *interfaces),
                *("--device-id", "1", "--no-p4", "--"),
                *("--grpc-server-addr", f"unix:{self._directory / 'p4runtime.sock'}"),
                *("--cpu-port", str(CPU_PORT), "--priority-queues", "8"),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        log.close()
        self._connect()

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

    def _open_sockets(self) -> None:
        """A socket stays in the namespace it was opened in, so only a helper thread has to enter it."""
        failures: list[OSError] = []

        def work() -> None:
            try:
                with Path(f"/run/netns/{self._namespace}").open("rb") as namespace:
                    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
                for port in self._ports:
                    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
                    self._sockets[port] = raw
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
                    raw.bind((f"h{port}", 0))
                    raw.setblocking(False)
                    self._selector.register(raw, selectors.EVENT_READ, port)
            except OSError as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

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
        """End the process and remove the namespace, and with it the links."""
        self.client.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=10)
            self._process = None
        for raw in self._sockets.values():
            raw.close()
        self._selector.close()
        if Path(f"/run/netns/{self._namespace}").exists():
            _run("ip", "netns", "delete", self._namespace)

    def _inside(self, *command: str) -> None:
        _run("ip", "netns", "exec", self._namespace, *command)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
