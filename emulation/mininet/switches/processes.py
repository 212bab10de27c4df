# SPDX-License-Identifier: Apache-2.0
"""Switch processes of a run: a BMv2 process for each switch, or built-in processes for many switches each."""

import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, final

from emulation.errors import MachineError, TestbedError
from emulation.linux import netns, requests
from emulation.linux.netlink import RouteSocket
from emulation.linux.record import RunRecord
from emulation.mininet.switches.bmv2_queues import set_queue_depth
from topologies import Fabric, Node

__all__ = ["SwitchKind", "SwitchProcesses", "choose", "listens", "spawn"]

SwitchKind = Literal["bmv2", "builtin"]

_BMV2 = "simple_switch_grpc"
_CPU_PORT = "510"
_FIRST_THRIFT_PORT = 9090
_LOOPBACK = 1  # its interface index
_READY_SECONDS = 120.0
_STOP_SECONDS = 5.0
# Capacity in frames of the queues of a switch with limited rates: transport windows never fill it.
_QUEUE_DEPTH = 1 << 16
# A dying process closes its sockets some time before it has ended, above all if it dumps core.
_DYING_SECONDS = 0.5


def choose(wanted: SwitchKind | None) -> SwitchKind:
    """Return the kind to run, by default BMv2 if installed; MachineError if BMv2 is wanted and missing."""
    installed = shutil.which(_BMV2) is not None
    if wanted == "bmv2" and not installed:
        raise MachineError(
            f"{_BMV2} is not installed",
            remedy="install p4lang-bmv2 as docs/testbeds/vagrant.md says, or say --switch builtin",
        )
    return wanted or ("bmv2" if installed else "builtin")


def spawn(
    record: RunRecord,
    namespace: str,
    command: Sequence[str],
    *,
    log: Path,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a process of a run in a namespace; the kernel kills it when the calling thread ends."""
    enter = ["nsenter", f"--net=/run/netns/{namespace}", "setpriv", "--pdeathsig", "KILL", *command]
    with log.open("wb") as output:
        return subprocess.Popen(
            enter,
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=record.environment(),
            pass_fds=pass_fds,
            process_group=0,  # Ctrl-C goes to the testbed, which stops the process
        )


@final
class SwitchProcesses:
    """The switch processes of a fabric, in `namespace`; `addresses` are P4Runtime addresses by node.

    `interfaces`, `frames_per_second` and `rates` are by node and port number. `frames_per_second` has the
    rates of the links' ports if frames wait for links in the switches, where P4 programs read the queue
    depth; None: they wait in the kernel. `rates`, in bit/s, are limits that built-in switches keep.
    """

    def __init__(
        self,
        kind: SwitchKind,
        record: RunRecord,
        namespace: str,
        fabric: Fabric,
        interfaces: Mapping[tuple[str, int], str],
        frames_per_second: Mapping[tuple[str, int], int] | None = None,
        rates: Mapping[tuple[str, int], float] = MappingProxyType({}),
    ) -> None:
        self.kind = kind
        self.addresses: dict[str, str] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._record = record
        self._namespace = namespace
        self._fabric = fabric
        self._frames_per_second = frames_per_second
        self._rates: dict[str, list[tuple[int, float]]] = {node.name: [] for node in fabric.nodes}
        for (node, port), rate in rates.items():
            self._rates[node].append((port, rate))
        self._ports: dict[str, list[tuple[int, str]]] = {node.name: [] for node in fabric.nodes}
        for (node, port), interface in interfaces.items():
            self._ports[node].append((port, interface))

    def start(self) -> None:
        """Start every process without waiting for it."""
        _raise_open_files()
        if self.kind == "bmv2":
            options = _bmv2_options()
            if self._frames_per_second is not None and "--thrift-port" not in options:
                raise MachineError(
                    f"{_BMV2} was built without its Thrift server, which sets the rates of queues",
                    remedy="leave out `link.ecn_frames`, say --switch builtin, or build BMv2 with Thrift",
                )
            for node in self._fabric.nodes:
                self._start(node.name, (node,), self._bmv2(node, options))
            return
        # Each process forwards frames in one thread; the other half of the processors is for the agents.
        count = min(len(self._fabric.nodes), max(1, (os.cpu_count() or 1) // 2))
        for index in range(count):
            nodes = self._fabric.nodes[index::count]
            self._start(f"switchd{index}", nodes, self._builtin(f"switchd{index}", nodes))

    def _start(self, name: str, nodes: Sequence[Node], command: Sequence[str]) -> None:
        self.addresses.update({node.name: f"unix:{self._socket(name)}" for node in nodes})
        self.processes[name] = spawn(self._record, self._namespace, command, log=self._log(name))

    def _socket(self, name: str) -> Path:
        return self._record.folder / f"{name}.sock"

    def _log(self, name: str) -> Path:
        return self._record.folder / f"{name}.log"

    def _bmv2(self, node: Node, options: frozenset[str]) -> list[str]:
        command = [_BMV2, "--no-p4", "--device-id", str(node.device_id)]
        for port, interface in self._ports[node.name]:
            command += ["-i", f"{port}@{interface}"]
        if "--thrift-port" in options:  # no other program has the port: the namespace is the run's own
            command += ["--thrift-port", str(_FIRST_THRIFT_PORT + node.index)]
        if "--notifications-addr" in options:  # the default leaves a socket in /tmp
            address = self._record.folder / f"{node.name}.ipc"
            command += ["--notifications-addr", f"ipc://{address}"]
        return [
            *command, "--", "--grpc-server-addr", f"unix:{self._socket(node.name)}",
            "--cpu-port", _CPU_PORT, "--priority-queues", "8",
        ]  # fmt: skip

    def _builtin(self, name: str, nodes: Sequence[Node]) -> list[str]:
        command = [sys.executable, "-m", "emulation.switchd.command", "--no-p4"]
        for node in nodes:
            ports = ",".join(f"{port}@{interface}" for port, interface in self._ports[node.name])
            command += ["--switch", f"{node.device_id}:{ports}"]
        command += ["--", "--grpc-server-addr", f"unix:{self._socket(name)}", "--cpu-port", _CPU_PORT]
        for node in nodes:
            if self._rates[node.name]:
                rates = ",".join(f"{port}={rate!r}" for port, rate in self._rates[node.name])
                command += ["--rate", f"{node.device_id}:{rates}"]
        if self._frames_per_second is not None or any(self._rates.values()):
            command += ["--queue-depth", str(_QUEUE_DEPTH)]
        return command

    def wait_ready(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Wait until every process accepts P4Runtime connections; by then its ports are bound.

        `progress` is called with the number of ready processes and of all processes.
        """
        waiting = dict(self.processes)
        deadline = time.monotonic() + _READY_SECONDS
        while waiting:
            for name, process in list(waiting.items()):
                if listens(self._socket(name)):
                    del waiting[name]
                    progress(len(self.processes) - len(waiting), len(self.processes))
                elif process.poll() is not None:
                    raise self.died(name)
            if time.monotonic() > deadline:
                raise MachineError(
                    f"{', '.join(waiting)}: are not ready after {_READY_SECONDS:g} s",
                    remedy="look whether the machine is out of memory or processors, or emulate fewer nodes",
                )
            if waiting:
                time.sleep(0.005)  # no event announces the socket
        if self.kind == "bmv2" and self._frames_per_second is not None:
            netns.inside(self._namespace, lambda rates=self._frames_per_second: self._hold(rates))

    def _hold(self, frames_per_second: Mapping[tuple[str, int], int]) -> None:
        """Set rates and depth of the queues of all BMv2 processes.

        The processes are reached over the loopback interface of the calling thread's namespace.
        """
        route = RouteSocket()
        try:
            route.do([requests.set_up(_LOOPBACK, True, "lo")])
        finally:
            route.close()
        for node in self._fabric.nodes:
            rates = {port: rate for (name, port), rate in frames_per_second.items() if name == node.name}
            set_queue_depth(_FIRST_THRIFT_PORT + node.index, rates, _QUEUE_DEPTH)

    def check(self) -> None:
        """Raise a TestbedError if a process has ended by itself, or does so within half a second."""
        deadline = time.monotonic() + _DYING_SECONDS
        while True:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise self.died(name)
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)

    def died(self, name: str) -> TestbedError:
        """Return the error for a process that has ended by itself, with the last lines of its log."""
        code = self.processes[name].wait()
        words = self._log(name).read_text(errors="replace").strip().splitlines()[-5:]
        return TestbedError(
            f"the switch process {name} has ended with code {code}: {' / '.join(words) or 'no output'}",
            remedy="see `dmesg` for a lack of memory; a crash of BMv2 is worth a report to its project",
        )

    def stop(self) -> None:
        """End every process; does nothing if none runs."""
        for process in self.processes.values():
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self.processes.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()


def _bmv2_options() -> frozenset[str]:
    """Return the option names in the help of the installed BMv2; they vary between builds."""
    answer = subprocess.run([_BMV2, "--help"], capture_output=True, text=True, check=False)
    return frozenset(word for word in (answer.stdout + answer.stderr).split() if word.startswith("--"))


def listens(path: Path) -> bool:
    """Return whether a process accepts connections at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _raise_open_files() -> None:
    """Raise the soft limit of open files: switch processes hold a socket for each port."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
