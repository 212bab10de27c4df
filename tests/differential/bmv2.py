# SPDX-License-Identifier: Apache-2.0
"""A simple_switch_grpc or railyard-switchd in a network namespace of its own, a raw socket on every port.

The namespace has no name: it lives in a thread that enters it and in what that thread starts, and is gone
with them, even when this process is killed.
"""

import ctypes
import errno
import fcntl
import selectors
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from controller import InstallError
from controller.p4runtime.client import P4RuntimeClient
from emulation.namespace import enter_new_namespace

__all__ = ["CPU_PORT", "NODE", "Bmv2"]

CPU_PORT = 510
NODE = "bmv2"

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_AUXDATA = 263, 8
# struct tpacket_auxdata (linux/if_packet.h): status, length, captured, two offsets, VLAN TCI and TPID.
_AUXDATA = struct.Struct("IIIHHHH")
_VLAN_VALID = 0x10
_START_SECONDS = 300.0  # a busy machine takes a minute for hundreds of ports
_STOP_SECONDS = 10.0
_SOCKET_BYTES = 8 << 20
# What a network driver may gather into one long frame, and how to ask for it not to (linux/ethtool.h).
_SIOCETHTOOL = 0x8946
_ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO = 0x1F, 0x24, 0x2C


class Bmv2:
    """A switch that runs nothing yet; `client` is its primary controller, under the node name NODE.

    Its receive ring of a port is 2 MiB of frames as long as the link may carry: 189 of `mtu` = 11,000 bytes,
    which takes the longest UB packet, and a thousand of 2,000. `command` starts another switch that takes
    the same arguments.
    """

    def __init__(
        self,
        ports: Sequence[int],
        directory: Path,
        *,
        mtu: int = 11_000,
        command: Sequence[str] = ("simple_switch_grpc",),
    ) -> None:
        self._command = tuple(command)
        self._ports = tuple(ports)
        self._directory = directory
        self._mtu = str(mtu)
        self.address = f"unix:{directory / 'p4runtime.sock'}"
        self._sockets: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._process: subprocess.Popen[bytes] | None = None
        # Whoever stays in the namespace must be one thread from beginning to end: the switch dies with it.
        self._inside = ThreadPoolExecutor(max_workers=1)
        self.client = P4RuntimeClient(self.address, timeout=20.0)

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
        enter_new_namespace()
        _run("ip", "link", "set", "lo", "up")
        for port in self._ports:
            node, neighbour = f"s{port}", f"h{port}"
            veth = ("mtu", self._mtu, "type", "veth", "peer", "name", neighbour, "mtu", self._mtu)
            _run("ip", "link", "add", node, *veth)
            for end in (node, neighbour):
                _run("ip", "link", "set", end, "up")
            _send_frames_as_they_are(node)
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            self._sockets[port] = raw
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
            raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            raw.bind((neighbour, 0))
            raw.setblocking(False)
            self._selector.register(raw, selectors.EVENT_READ, port)
        interfaces = [part for port in self._ports for part in ("-i", f"{port}@s{port}")]
        with (self._directory / "simple_switch_grpc.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", *self._command, *interfaces),
                    *("--device-id", "1", "--no-p4", "--"),
                    *("--grpc-server-addr", self.address),
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
                    raise RuntimeError(f"{self._command[0]} did not start:\n{log[-2000:]}") from None
                time.sleep(0.02)

    @property
    def pid(self) -> int | None:
        """Process id; None unless the switch runs."""
        ended = self._process is None or self._process.poll() is not None
        return None if ended or self._process is None else self._process.pid

    def set_link(self, port: int, up: bool) -> None:
        """Take the far end of a port's link down, or up again."""
        state = "up" if up else "down"
        self._inside.submit(_run, "ip", "link", "set", f"h{port}", state).result()

    def set_queue_depth(self, packets: int) -> None:
        """Set the depth of every egress queue; the default is 64."""
        command = ["simple_switch_CLI"]
        line = f"set_queue_depth {packets}\n"
        asked = self._inside.submit(subprocess.run, command, input=line, capture_output=True, text=True)
        if asked.result().returncode != 0:
            raise RuntimeError(f"simple_switch_CLI: {asked.result().stdout}{asked.result().stderr}")

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
                    data, notes, _, _ = raw.recvmsg(65535, 64)
                except OSError as ex:
                    if ex.errno not in (errno.EAGAIN, errno.ENETDOWN):
                        raise
                    break
                frames.append((key.data, _tagged(data, notes[0][2]) if notes else data))
        return frames

    def stop(self) -> None:
        """End the process and, with it, the namespace and its links."""
        self.client.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:  # it closes hundreds of ports one by one
                self._process.kill()
                self._process.wait()
            self._process = None
        for raw in self._sockets.values():
            raw.close()
        self._selector.close()
        self._inside.shutdown()


def _tagged(data: bytes, note: bytes) -> bytes:
    """The frame as it came: the kernel takes what looks like an outer VLAN tag out of it."""
    status, _, _, _, _, tci, tpid = _AUXDATA.unpack(note)
    return data[:12] + struct.pack("!HH", tpid, tci) + data[12:] if status & _VLAN_VALID else data


def _send_frames_as_they_are(interface: str) -> None:
    """Otherwise libpcap gives each frame of its ring room for 64 KiB, and the ring holds 32 of them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for what in (_ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO):
            off = ctypes.create_string_buffer(struct.pack("II", what, 0))
            request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(off))
            fcntl.ioctl(control, _SIOCETHTOOL, request)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
