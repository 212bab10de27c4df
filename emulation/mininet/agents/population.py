# SPDX-License-Identifier: Apache-2.0
"""The host processes of a run from the testbed's side: their start, orders, messages, final reports."""

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from socket import socketpair
from typing import Any, final

import numpy as np

from emulation.errors import EmulationError, MachineError
from emulation.linux.record import RunRecord
from emulation.mininet.agents.messages import Description, HostOrder, HostSlot, Job, Report, Reports
from emulation.mininet.agents.tallies import Tallies
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.schedule.data import Array

__all__ = ["LEAD_NS", "Population"]

LEAD_NS = 100_000_000
"""Nanoseconds from an order to begin until its start time, for the order to reach the hosts."""

_READY_SECONDS = 300.0


@final
class Population:
    """The `HostProcesses` of a Mininet testbed on this machine.

    Their common parent process starts at construction, and loads modules in the background.
    """

    def __init__(self, record: RunRecord) -> None:
        ours, theirs = socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [
                    "setpriv", "--pdeathsig", "KILL",
                    sys.executable, "-m", "emulation.mininet.agents.generators", str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                env=record.environment(),
                pass_fds=(theirs.fileno(), *(fd for fd in (self._make_memory(),))),
                process_group=0,  # Ctrl-C goes to the testbed, even while this process loads
            )  # fmt: skip
        self.connection = Connection(ours.detach())

    def _make_memory(self) -> int:
        # Anonymous memory ends with the last process that holds it.
        self._memory = os.memfd_create("railyard")
        return self._memory

    def launch(
        self, slots: Sequence[HostSlot], rate_bps: float, dilation: int, bin_ps: int, *, watched: bool
    ) -> None:
        self._index = {slot.node: index for index, slot in enumerate(slots)}
        os.ftruncate(self._memory, Tallies.size(len(slots)))
        self._room = mmap.mmap(self._memory, 0)
        self._tallies = Tallies(self._room, len(slots))
        self.connection.send(Job(slots, rate_bps, dilation, bin_ps, self._memory, watched))
        if not self.connection.poll(_READY_SECONDS):
            raise MachineError(
                f"the hosts were not ready after {_READY_SECONDS:g} s",
                remedy="look whether the machine is out of memory or processors, or emulate fewer nodes",
            )
        self._checked(self._take(), "ready")

    def go(self, start_ns: int) -> None:
        """Begin all agents and scenario time at `start_ns` of the machine's monotonic clock."""
        self.connection.send(("go", start_ns))

    def begin(self, number: int, agents: Mapping[str, Description], start_ns: int | None = None) -> None:
        """Replace the agents of nodes; the new agents begin at the same time.

        The new agents begin at `start_ns` of the machine's monotonic clock, by default LEAD_NS from now.
        Their messages carry `number`.
        """
        if start_ns is None:
            start_ns = time.monotonic_ns() + LEAD_NS
        self._tallies.begin_again([self._index[node] for node in agents])
        self.connection.send(("begin", number, start_ns, agents))

    def give(self, node: str, order: HostOrder) -> None:
        self.connection.send(("order", node, order))

    def message(self) -> tuple[Any, ...]:
        """Wait for the next message of a host, and return it; EmulationError if a host has failed."""
        message = self._take()
        self._checked(message, message[0])
        return message

    @property
    def received_bytes(self) -> int:
        return self._tallies.arrived_bytes

    @property
    def tallies(self) -> Mapping[str, tuple[AgentStats, int | None]]:
        """Latest counts and finishing times (None: not finished) of the hosts of a watched run, by node."""
        return {node: self.noted(node) for node in self._index}

    def noted(self, node: str) -> tuple[AgentStats, int | None]:
        index = self._index[node]
        return self._tallies.stats(index), self._tallies.finished_ps(index)

    def reports(self) -> Reports:
        self.connection.send(("stop",))
        while (message := self._take())[0] in (
            "ended", "iteration", "silent", "tree lost", "waiting",
        ):  # fmt: skip
            pass  # sent before the stop arrived
        return self._checked(message, "reports")

    def array(self, node: str, report: Report) -> Array:
        return np.frombuffer(bytearray(self.content(node, report)), np.dtype(report.dtype))

    def replaced_array(self, node: str, report: Report) -> Array:
        return np.frombuffer(bytearray(self.replaced_content(node, report)), np.dtype(report.dtype))

    def content(self, node: str, report: Report) -> bytes:
        """Return the bytes of a host's array; call reports() first."""
        return os.pread(self._memory, report.nbytes, Job.array_at(self._index[node]))

    def replaced_content(self, node: str, report: Report) -> bytes:
        """Return the bytes of the array of replaced_array(); call reports() first."""
        return os.pread(self._memory, report.replaced_nbytes, Job.replaced_at(self._index[node]))

    def _take(self) -> tuple[Any, ...]:
        try:
            return self.connection.recv()
        except (EOFError, OSError):  # the connection has ended, between or within messages
            return ("failed", "the hosts", f"their process has ended with code {self.process.wait()}")

    def _checked(self, message: tuple[Any, ...], kind: str) -> Any:
        if message[0] == "failed":
            _, node, why = message
            raise EmulationError(f"{node} failed: {why}", remedy="this is a bug of Railyard: report it")
        assert message[0] == kind, message
        return message[1] if len(message) > 1 else None

    def close(self) -> None:
        """End every process; does nothing if none runs."""
        self.connection.close()  # processes end when it closes
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1
