# SPDX-License-Identifier: Apache-2.0
"""Operations of the Mininet testbed on its links: faults, circuits, captures, and samples of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from emulation.circuits import CircuitSwitch, set_circuit_up
from emulation.errors import TestbedError
from emulation.linux import kernel
from emulation.linux.record import RunRecord
from emulation.mininet.alarms import Alarms
from emulation.mininet.links.cabling import endpoint_at
from emulation.mininet.links.counters import EndpointCounters
from emulation.mininet.links.links import Links
from emulation.mininet.samples import Samples
from emulation.testbed import Impairment, LinkSample, RecentFrame
from topologies import Fabric

__all__ = ["LinkOperations"]

_TICK_SECONDS = 0.05


def _no_pauses(what: str) -> TestbedError:
    return TestbedError(
        f"{what}: Linux interfaces obey no pause frames of a class", remedy="take --testbed embedded"
    )


class LinkOperations:
    """Base class with the operations of a `WatchableTestbed` in real time on its links."""

    fabric: Fabric
    dilation: int
    circuits: Mapping[str, CircuitSwitch]
    _alarms: Alarms
    _links: Links
    _record: RunRecord | None
    _samples: Samples

    # -- faults

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or bring it up at the cross-connect: both ends lose their carrier."""
        self._links.set_link(name, up)
        set_circuit_up(self.circuits, self.fabric, name, up)

    def set_host_link(self, node: str, up: bool) -> None:
        """Take the link to a node's host down or up; the host's interface keeps its configuration."""
        self._links.set_host_link(node, up)

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        self._links.impair(name, direction, how)

    def send_pause(self, name: str, direction: int, stop: bool) -> None:
        """Raise a TestbedError: Linux interfaces ignore pause frames of priority flow control."""
        raise _no_pauses(f"link {name}")

    def cut(self, optical: str, low: int, high: int) -> None:
        """Tear a circuit down, as the switches in `circuits` ask; frames on it or queued for it are lost."""
        self._links.cut(optical, low, high)

    def join(self, optical: str, low: int, high: int) -> None:
        """Set up a circuit between two dark ports, as the switches in `circuits` ask."""
        self._links.join(optical, low, high)

    def record(self, name: str, path: Path) -> None:
        """Write the frames of a link to a pcap file, from now on until stop()."""
        self._links.record(name, path, self._running)

    @property
    def _running(self) -> RunRecord:
        if self._record is None:
            raise TestbedError("the Mininet testbed does not run", remedy="call start() first")
        return self._record

    # -- looking on

    @property
    def least_tick_ps(self) -> int:
        """Least scenario time between two samples: 20 samples in a real second slow a run little."""
        return round(_TICK_SECONDS * 10**12 / self.dilation)

    @property
    def link_names(self) -> Sequence[str]:
        """Names of the links reported by `sample`."""
        return self._links.names

    def sample(self) -> LinkSample:
        """Return loads since the last sample, and the present waiting bytes and states, of all links."""
        return self._samples.take(self._alarms.now_ps)

    def queued(self, name: str, direction: int) -> Mapping[int, int]:
        """Return the bytes queued on a direction of a link at the last sample, all on VL 0.

        The counters of the kernel's queues do not tell VLs apart.
        """
        waiting = self._samples.waiting(name, direction)
        return {0: waiting} if waiting else {}

    def recent(self, name: str) -> Sequence[RecentFrame]:
        return self._links.recent(name, self._alarms.ps)

    def forget(self, name: str) -> None:
        """Stop keeping the last frames of a link."""
        self._links.forget(name)

    def settle(self) -> None:
        """Do nothing: in real time no events are left to settle."""

    def check_event(self, event: str) -> None:
        if event == "storm":
            raise _no_pauses("a storm")
        needed = {"rate": (kernel.TBF,), "delay": (kernel.NETEM, kernel.TBF)}
        kernel.need(*needed.get(event, ()))

    def endpoint_counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters of every endpoint since its creation, by name."""
        return self._links.counters()

    def carried(self) -> Mapping[str, tuple[int, int]]:
        """Return the frames carried by each link so far: from its first to its second end, and back."""
        endpoints = self._links.counters()
        return {
            link.name: (
                endpoints[endpoint_at(link.a)].from_frames,
                endpoints[endpoint_at(link.b)].from_frames,
            )
            for link in self.fabric.links
        }
