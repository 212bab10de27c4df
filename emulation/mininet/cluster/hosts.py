# SPDX-License-Identifier: Apache-2.0
"""Host processes on several machines, controlled by orders to each machine's part of the fabric."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, final

import numpy as np

from emulation.mininet.agents.messages import Description, HostOrder, HostSlot, Report, Reports
from emulation.mininet.cluster.clocks import Clocks
from emulation.mininet.cluster.session import Session
from emulation.mininet.cluster.sessions import Sessions
from emulation.traffic.host.stats import NOTHING, AgentStats
from emulation.traffic.schedule.data import Array

__all__ = ["LEAD_NS", "MachinesHosts", "MachinesMeter"]

LEAD_NS: Final = 250_000_000
"""Nanoseconds from an order to begin until its start time, for the order to reach all machines."""

_LAUNCH_SECONDS: Final = 600.0
_REPORT_SECONDS: Final = 300.0
_FRESH_SECONDS: Final = 0.04

T = TypeVar("T")


@final
class MachinesHosts:
    """`HostProcesses` on several machines."""

    def __init__(self, machine_of: Mapping[str, str], sessions: Sessions, clocks: Clocks) -> None:
        self._machine_of = machine_of
        self._sessions = sessions
        self._clocks = clocks
        self._machines: tuple[str, ...] = ()
        self._watched = False
        self._noted: dict[str, tuple[AgentStats, int | None]] = {}
        self._received = 0
        self._noted_at = 0.0
        self._contents: dict[str, tuple[bytes, bytes]] = {}

    def launch(
        self, slots: Sequence[HostSlot], rate_bps: float, dilation: int, bin_ps: int, *, watched: bool
    ) -> None:
        """Create every host in its namespace on its machine, and wait until all hosts are ready."""
        own = self._apart({slot.node: slot for slot in slots})
        self._machines = tuple(own)
        self._watched = watched
        self._call(
            lambda session, here: session.call(
                "launch_hosts", list(here.values()), rate_bps, dilation, bin_ps, watched,
                seconds=_LAUNCH_SECONDS,
            ),
            own,
        )  # fmt: skip

    def go(self, start_ns: int) -> None:
        """Begin all agents and scenario time at `start_ns`, converted to each machine's clock."""
        self._begin_at(lambda session, at: session.call("go", at), self._machines, start_ns)

    def begin(self, number: int, agents: Mapping[str, Description]) -> None:
        """Replace agents, by node; the new agents begin together soon, and their messages carry `number`."""
        own = self._apart(agents)
        # The agents travel first, so that the order to begin, which must not be late, is short.
        self._call(lambda session, here: session.call("prepare_hosts", number, here), own)
        start_ns = time.monotonic_ns() + LEAD_NS
        self._begin_at(lambda session, at: session.call("begin_hosts", number, at), own, start_ns)

    def _begin_at(
        self, act: Callable[[Session, int], int], machines: Sequence[str] | Mapping[str, Any], start_ns: int
    ) -> None:
        late = self._sessions.each(
            lambda session: act(session, self._clocks.at(session.machine.name, start_ns)), machines
        )
        for late_ns in late.values():
            self._clocks.arrived(late_ns)

    def give(self, node: str, order: HostOrder) -> None:
        self._sessions[self._machine_of[node]].call("population.give", node, order)

    @property
    def received_bytes(self) -> int:
        """Bytes of data received by all hosts together; up to 40 ms old."""
        self._look()
        return self._received

    def noted(self, node: str) -> tuple[AgentStats, int | None]:
        if not self._watched:
            return NOTHING, None
        self._look()
        return self._noted[node]

    def _look(self) -> None:
        if time.monotonic() - self._noted_at < _FRESH_SECONDS:
            return
        told = self._sessions.each(lambda session: session.call("tallies"), self._machines)
        self._received = sum(received for received, _ in told.values())
        self._noted = {node: counts for _, noted in told.values() for node, counts in noted.items()}
        self._noted_at = time.monotonic()

    def reports(self) -> Reports:
        told: dict[str, tuple[Reports, Mapping[str, tuple[bytes, bytes]]]] = self._sessions.each(
            lambda session: session.call("host_reports", seconds=_REPORT_SECONDS), self._machines
        )
        hosts: dict[str, Report] = {}
        seconds: dict[str, float] = {}
        calls: dict[str, Mapping[str, int]] = {}
        self._contents = {}
        for machine, (reports, arrays) in told.items():
            hosts |= reports.hosts
            seconds |= _on(machine, reports.seconds)
            calls |= _on(machine, reports.calls)
            self._contents |= arrays
        return Reports(hosts, seconds, calls)

    def array(self, node: str, report: Report) -> Array:
        return np.frombuffer(bytearray(self._contents[node][0]), np.dtype(report.dtype))

    def replaced_array(self, node: str, report: Report) -> Array:
        return np.frombuffer(bytearray(self._contents[node][1]), np.dtype(report.dtype))

    def _apart(self, by_node: Mapping[str, T]) -> dict[str, dict[str, T]]:
        """Group values of nodes by the machine of the node: return values by machine, then by node."""
        own: dict[str, dict[str, T]] = {}
        for node, value in by_node.items():
            own.setdefault(self._machine_of[node], {})[node] = value
        return own

    def _call(
        self, act: Callable[[Session, Mapping[str, Any]], object], own: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._sessions.each(lambda session: act(session, own[session.machine.name]), own)


@final
class MachinesMeter:
    """Meter of processor use since construction: of the busiest machine, and of all switch processes."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        sessions.each(lambda session: session.call("begin_meter"))

    def read(self) -> tuple[float, dict[str, float]]:
        """Return the busy share of the busiest machine's processors, 0 to 1, and the seconds by process."""
        told = self._sessions.each(lambda session: session.call("read_meter"))
        used: dict[str, float] = {}
        for machine, (_, processes) in told.items():
            used |= _on(machine, processes)
        return max(busy for busy, _ in told.values()), used


def _on(machine: str, processes: Mapping[str, T]) -> dict[str, T]:
    """Return the values by process, with the machine added to each name."""
    return {f"{name} on machine {machine}": value for name, value in processes.items()}
