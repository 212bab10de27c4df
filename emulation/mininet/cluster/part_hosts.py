# SPDX-License-Identifier: Apache-2.0
"""Methods of a part for orders about its host processes."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from emulation.mininet.agents.measure import CpuMeter
from emulation.mininet.agents.messages import Description, HostSlot, Reports
from emulation.mininet.agents.population import Population
from emulation.mininet.cluster.orders import Event
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.host.stats import AgentStats

__all__ = ["PartHosts"]

Noted = Mapping[str, tuple[AgentStats, int | None]]
"""Latest counts of hosts, and their finishing times in scenario ps or None, by node."""


class PartHosts:
    """The host processes of a part, the share of a testbed on one machine; base class of the whole part.

    Times are nanoseconds of this machine's monotonic clock.
    """

    _meter: CpuMeter
    _prepared: Mapping[int, Mapping[str, Description]]

    @property
    def bed(self) -> MininetTestbed:
        """The testbed of this part."""
        raise NotImplementedError

    @property
    def population(self) -> Population:
        """Host processes of this part."""
        return self.bed.population

    def tell(self, message: Event) -> None:
        """Send an event to the controlling process."""
        raise NotImplementedError

    def launch_hosts(
        self, slots: Sequence[HostSlot], rate_bps: float, dilation: int, bin_ps: int, watched: bool
    ) -> None:
        """Create hosts in their namespaces, and wait until all are ready.

        Their messages are passed on to the controlling process as events.
        """
        self.bed.on_host_message = lambda message: self.tell(Event("host", message))
        self._watched = watched
        self.population.launch(slots, rate_bps, dilation, bin_ps, watched=watched)

    def go(self, start_ns: int) -> int:
        """Begin agents and scenario time at `start_ns`; return the ns by which the order came late, or 0."""
        self.population.go(start_ns)
        return max(0, time.monotonic_ns() - start_ns)

    def prepare_hosts(self, number: int, agents: Mapping[str, Description]) -> None:
        """Keep agents, by node, for the order `begin_hosts` with this number."""
        self._prepared = {number: agents}

    def begin_hosts(self, number: int, start_ns: int) -> int:
        """Begin prepared agents at `start_ns`; return the ns by which the order came late, or 0."""
        self.population.begin(number, self._prepared[number], start_ns)
        return max(0, time.monotonic_ns() - start_ns)

    def tallies(self) -> tuple[int, Noted]:
        """Return the bytes of data received by all hosts, and in a watched run the hosts' latest counts."""
        noted = self.population.tallies if self._watched else {}
        return self.population.received_bytes, noted

    def host_reports(self) -> tuple[Reports, Mapping[str, tuple[bytes, bytes]]]:
        """Stop all hosts; return their reports, and by node the bytes of `array` and `replaced_array`."""
        reports = self.bed.end_hosts()
        return reports, {
            node: (
                self.population.content(node, report),
                self.population.replaced_content(node, report),
            )
            for node, report in reports.hosts.items()
        }

    def begin_meter(self) -> None:
        """Start the meter of processor use."""
        self._meter = self.bed.meter()

    def read_meter(self) -> tuple[float, Mapping[str, Any]]:
        """Return the busy share of all processors, 0 to 1, and the seconds of each switch process."""
        return self._meter.read()
