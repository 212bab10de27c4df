# SPDX-License-Identifier: Apache-2.0
"""Forwarding of P4Runtime sockets from other machines to this machine, by ssh."""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

from emulation.errors import MachineError
from emulation.linux.record import RunRecord
from emulation.mininet.cluster.machines import Machine
from emulation.mininet.switches.processes import listens

__all__ = ["Forwards"]

_READY_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 5.0


@final
class Forwards:
    """Forwarding of a machine's `sockets`, paths by node, to sockets in the run's folder.

    `addresses` are the gRPC addresses of the local sockets, by node.
    """

    def __init__(self, machine: Machine, record: RunRecord, sockets: Mapping[str, str]) -> None:
        self._machine = machine
        self._log = record.folder / f"{machine.name}-forwards.log"
        local: dict[str, Path] = {}
        for number, remote in enumerate(dict.fromkeys(sockets.values())):
            local[remote] = record.folder / f"{machine.name}-{number}.sock"
        self.addresses = {node: f"unix:{local[remote]}" for node, remote in sockets.items()}
        options = [part for remote, path in local.items() for part in ("-L", f"{path}:{remote}")]
        command = machine.ssh_with("-N", "-o", "ExitOnForwardFailure=yes", *options)
        with self._log.open("wb") as log:
            self._ssh = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=record.environment(),
                process_group=0,
            )
        self._waiting = set(local.values())

    def await_ready(self) -> None:
        """Wait until every local socket accepts connections; MachineError if ssh ends or after 60 seconds."""
        deadline = time.monotonic() + _READY_SECONDS
        while self._waiting:
            self._waiting = {path for path in self._waiting if not listens(path)}
            if self._ssh.poll() is not None or time.monotonic() > deadline:
                words = " / ".join(self._log.read_text(errors="replace").strip().splitlines()[-3:])
                raise MachineError(
                    f"machine {self._machine.name}: ssh does not forward sockets: {words or 'no output'}",
                    remedy="set `AllowStreamLocalForwarding yes`, the default, for sshd on that machine",
                )
            if self._waiting:
                time.sleep(0.01)

    def close(self) -> None:
        """End the forwarding."""
        self._ssh.terminate()
        try:
            self._ssh.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()
