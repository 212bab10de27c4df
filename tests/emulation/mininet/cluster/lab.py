# SPDX-License-Identifier: Apache-2.0
"""Namespaces as machines: each with its own sshd, address and /run; a bridge in a namespace joins them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, final

from emulation.linux.record import RunRecord
from tests.emulation.mininet.commands import ROOT

__all__ = ["Lab", "why_no_lab"]

_SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
_SECONDS = 300.0
_CONTROL = "control"


def why_no_lab() -> str:
    """Return why no machines can be made here; empty if they can."""
    if _SSHD is None or shutil.which("ssh-keygen") is None:
        return "no sshd: install the package openssh-server"
    return ""


@final
class Lab:
    """Machines `a`, `b`, ... and `control`, which reaches all of them; nothing leaves the namespaces."""

    def __init__(self, folder: Path, count: int, mtu: int = 10400) -> None:
        self.folder = folder
        self.names = [chr(ord("a") + index) for index in range(count)]
        self.address = {name: f"10.99.0.{index + 1}" for index, name in enumerate([*self.names, _CONTROL])}
        self.sshd: dict[str, subprocess.Popen[bytes]] = {}
        self._keepers: dict[str, subprocess.Popen[bytes]] = {}
        self._record = RunRecord.create()
        try:
            self._build(mtu)
        except BaseException:
            self._record.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.sshd.values(), *self._keepers.values()):
            process.kill()
            process.wait()
        self._record.close()

    def _build(self, mtu: int) -> None:
        bridge = self._record.namespace("bridge")
        self._do(f"ip -n {bridge} link add name bridge mtu {mtu} type bridge")
        self._do(f"ip -n {bridge} link set bridge up")
        self.namespaces = {name: self._record.namespace(f"machine-{name}") for name in self.address}
        for name, namespace in self.namespaces.items():
            self._do(
                f"ip -n {bridge} link add name wire-{name} mtu {mtu} type veth "
                f"peer name wire mtu {mtu} netns {namespace}"
            )
            self._do(f"ip -n {bridge} link set dev wire-{name} master bridge up")
            self._do(f"ip -n {namespace} link set lo up")
            self._do(f"ip -n {namespace} link set wire up")
            self._do(f"ip -n {namespace} address add {self.address[name]}/24 dev wire")
        for key in ("host", "user"):
            self._do(f"ssh-keygen -q -t ed25519 -N '' -f {self.folder / key}")
        (self.folder / "authorized").write_text((self.folder / "user.pub").read_text())
        for name in self.address:
            self._keep(name)
        for name in self.names:
            self.start_sshd(name)

    def _keep(self, name: str) -> None:
        """Start a process that keeps the machine's mounts: its own /run, with its records, and /dev/shm."""
        begin = (
            "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && "
            "mkdir -p /run/netns /run/railyard /run/sshd /run/temporary && touch /run/kept"
        )
        keeper = self._keepers[name] = subprocess.Popen(
            ["ip", "netns", "exec", self.namespaces[name], "unshare", "--mount", "sh", "-c",
             f"{begin} && exec sleep infinity"],
            env=self._record.environment(),
        )  # fmt: skip
        deadline = time.monotonic() + _SECONDS
        while not Path(f"/proc/{keeper.pid}/root/run/kept").exists():
            assert time.monotonic() < deadline, f"machine {name} has no /run"
            time.sleep(0.01)

    def on(self, name: str, words: Sequence[str]) -> list[str]:
        """Return the command line that runs words on a machine, `control` included."""
        return ["nsenter", "-t", str(self._keepers[name].pid), "-m", "-n", *words]

    def start_sshd(self, name: str) -> None:
        """Start a machine's sshd, and wait until it lets us in."""
        options = {
            "HostKey": self.folder / "host",
            "AuthorizedKeysFile": self.folder / "authorized",
            "ListenAddress": self.address[name],
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "yes",
        }
        words = " ".join(f"-o {key}={value}" for key, value in options.items())
        with (self.folder / f"sshd-{name}.log").open("wb") as log:
            self.sshd[name] = subprocess.Popen(
                self.on(name, ["sh", "-c", f"exec {_SSHD} -D -e -f /dev/null {words}"]),
                env=self._record.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + _SECONDS
        while not self.answers(name):
            assert time.monotonic() < deadline, (self.folder / f"sshd-{name}.log").read_text()

    def answers(self, name: str) -> bool:
        """Return whether the machine's sshd lets us in."""
        return (
            subprocess.run(
                self.in_control([*self.ssh(name), "true"]), capture_output=True, check=False
            ).returncode
            == 0
        )

    def ssh(self, name: str) -> list[str]:
        return [
            "ssh", "-F", "none", "-i", str(self.folder / "user"), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", f"root@{self.address[name]}",
        ]  # fmt: skip

    def in_control(self, words: Sequence[str]) -> list[str]:
        """Return the command line that runs words on the controlling machine."""
        return self.on(_CONTROL, words)

    def file(self, **more: dict[str, object]) -> Path:
        """Write the file of the machines; `more` has further keys of a machine, by its name."""
        lines = ["machines:"]
        for name in self.names:
            lines += [
                f"  - name: {name}",
                f"    address: {self.address[name]}",
                f"    ssh: {' '.join(self.ssh(name))}",
                f"    python: env PYTHONPATH={ROOT} TMPDIR=/run/temporary {sys.executable}",
                *(f"    {key}: {value}" for key, value in more.get(name, {}).items()),
            ]
        path = self.folder / "machines.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def left_now(self) -> list[str]:
        """Return the records and namespaces on the machines and on `control`."""
        return [
            f"{name}: {path.name}"
            for name, process in self._keepers.items()
            for place in ("run/railyard", "run/netns")
            for path in Path(f"/proc/{process.pid}/root/{place}").glob("*")
        ]

    def left(self) -> list[str]:
        """Return what stays on the machines and on `control`; empty once there is nothing."""
        return self._settled(self.left_now)

    def everything_left(self) -> list[str]:
        """Return what stays on the machines and on `control`, with processes, interfaces and files."""
        return self._settled(
            lambda: [*self.left_now(), *self._files(), *self._processes(), *self._interfaces()]
        )

    def _files(self) -> Iterator[str]:
        for name, keeper in self._keepers.items():
            for place in ("dev/shm", "run/temporary"):
                for path in Path(f"/proc/{keeper.pid}/root/{place}").iterdir():
                    yield f"{name}: file {place}/{path.name}"

    def _processes(self) -> Iterator[str]:
        """Yield processes with a machine's mounts but its sshd, and the process that keeps the mounts."""
        ours = {process.pid for process in (*self._keepers.values(), *self.sshd.values())}
        places = {
            Path(f"/proc/{keeper.pid}/ns/mnt").stat().st_ino: name for name, keeper in self._keepers.items()
        }
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) not in ours:
                with suppress(OSError):
                    if name := places.get((entry / "ns" / "mnt").stat().st_ino):
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        yield f"{name}: process {entry.name} {words}"

    def _interfaces(self) -> Iterator[str]:
        for name, namespace in self.namespaces.items():
            listed = subprocess.run(
                ["ip", "-n", namespace, "-json", "link"], capture_output=True, text=True, check=True
            )
            for link in json.loads(listed.stdout):
                if link["ifname"] not in ("lo", "wire"):
                    yield f"{name}: interface {link['ifname']}"

    def left_settled(self) -> list[str]:
        """Return what stays on the machines alone; empty once there is nothing."""
        return self._settled(lambda: [line for line in self.left_now() if not line.startswith(_CONTROL)])

    def _settled(self, look: Callable[[], list[str]]) -> list[str]:
        deadline = time.monotonic() + _SECONDS
        while (left := look()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def process(self, name: str, word: str) -> int:
        """Return a process of a machine whose command line has a word."""
        namespace = Path(f"/proc/{self._keepers[name].pid}/ns/mnt").stat().st_ino
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    same = (entry / "ns" / "mnt").stat().st_ino == namespace
                    if same and word.encode() in words and b"setpriv" not in words and b"-c" not in words:
                        return int(entry.name)
        raise LookupError(f"machine {name} has no process {word}")

    def await_part(self, name: str) -> None:
        """Wait until a machine has begun to make a part."""
        deadline = time.monotonic() + _SECONDS
        while not any(line.startswith(f"{name}:") for line in self.left_now()):
            assert time.monotonic() < deadline, f"machine {name} begins nothing"
            time.sleep(0.01)

    def kill_sshd(self, name: str) -> None:
        """Kill a machine's sshd with all its connections; the programs that it started live on."""
        listener = self.sshd[name]
        for pid in [*_children(listener.pid), listener.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        listener.wait()

    @staticmethod
    def _do(line: str) -> None:
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"


def _children(pid: int) -> list[int]:
    """Return the sshd processes below one."""
    children: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text()
        except OSError:
            continue
        name, _, rest = fields.partition("(")[2].rpartition(")")
        if name.startswith("sshd") and int(rest.split()[1]) == pid:
            children += [*_children(int(entry.name)), int(entry.name)]
    return children
