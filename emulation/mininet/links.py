# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric on a patch panel: patches between jacks, and impairments of them."""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from emulation.errors import TestbedError
from emulation.mininet.cabling import Cabling, host_jack, jack_at
from emulation.mininet.carried import Carried
from emulation.mininet.counters import JackCounters
from emulation.mininet.linux import kernel
from emulation.mininet.linux.frame_tap import FrameTap
from emulation.mininet.linux.record import RunRecord
from emulation.mininet.patch import PatchPanel
from emulation.testbed import RECENT_FRAMES, Impairment, RecentFrame
from emulation.traffic.frames.values import ETHERTYPE
from topologies import HOST_PORT, End, Fabric, Link
from topologies.transform.circuits import circuit_link, circuit_of

__all__ = ["Links"]

# Links faster than this stay unshaped: no kernel queue could hold them to their rate.
_MOST_SHAPED_BPS = 20e9
# Instead of waiting for credits, frames wait in a queue that holds what the transport windows allow.
_QUEUE_BYTES = 16 << 20
_SETTLE_LOOKS, _SETTLE_SECONDS = 20, 0.05
_WELL = Impairment()


@final
class Links:
    """Links in dilated time: rates are divided by `dilation`, delays multiplied by it.

    With `lanes`, frames of a higher service level go first.
    """

    def __init__(
        self, fabric: Fabric, panel: PatchPanel, cabling: Cabling, dilation: int, *, lanes: bool = False
    ) -> None:
        self._lanes = lanes
        self._fabric = fabric
        self._panel = panel
        self._cabling = cabling
        self._dilation = dilation
        self._names: dict[str, None] = {}
        self._joined: set[str] = set()
        self._failed: set[str] = set()
        self._wrong: dict[tuple[str, int], Impairment] = {}
        self._taps: dict[str, FrameTap] = {}
        self._captures: list[subprocess.Popen[bytes]] = []
        self.struck: set[End] = set()
        """Ends that have lost their carrier at least once."""
        self.carried = Carried(panel.counters)
        """Frames of circuits that have been set up or torn down."""

    def connect(self) -> None:
        """Patch every link and every host."""
        self._panel.add(self._cabling.jacks)
        for link in self._fabric.links:
            self._join(link)
        host_bps = self._fabric.host_lanes * self._fabric.lane_rate_bps
        for node in self._cabling.hosts:
            self._panel.patch(*_host(node), **self._shape(host_bps))

    def joined_ends(self) -> Iterator[End]:
        """Yield the switch ports that are patched, ports to hosts included."""
        for link in map(self.link, self._joined):
            yield from (end for end in (link.a, link.b) if (end.node, end.port) in self._cabling.interfaces)
        yield from (End(node, HOST_PORT) for node in self._cabling.hosts)

    @property
    def names(self) -> Sequence[str]:
        """Names of the fabric's links; circuits follow in the order of their first use."""
        return [*self._names]

    @property
    def shaped(self) -> bool:
        """True if every link is held to its rate."""
        return all(self._shape(link.rate_bps) for link in self._fabric.links)

    def _shape(self, rate_bps: float) -> dict[str, Any]:
        real = rate_bps / self._dilation
        limit = kernel.HTB if self._lanes else kernel.TBF
        if real > _MOST_SHAPED_BPS or limit in kernel.missing():
            return {}
        return {"rate_bps": real, "queue_bytes": _QUEUE_BYTES, "lanes": self._lanes}

    def _join(self, link: Link) -> None:
        self._panel.patch(*_jacks(link), **self._shape(link.rate_bps))
        self._joined.add(link.name)
        self._names.setdefault(link.name)

    def state(self, name: str) -> int:
        """Return 1 for a link that is up, with 2 and 4 for its first and its second direction impaired."""
        up = name in self._joined and name not in self._failed
        wrong = [self._wrong.get((name, direction), _WELL) != _WELL for direction in (0, 1)]
        return up | wrong[0] << 1 | wrong[1] << 2

    def link(self, name: str) -> Link:
        """Return a link of the fabric, or a possible circuit."""
        circuit = circuit_of(self._fabric, name)
        return self._fabric.link(name) if circuit is None else circuit_link(self._fabric, *circuit)

    # -- faults

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or up; a circuit that is up carries frames while its optical switch joins it."""
        link = self.link(name)
        (self._failed.discard if up else self._failed.add)(name)
        self.struck |= {link.a, link.b}
        if name in self._joined:
            self._panel.set_carrier(*_jacks(link), up)

    def set_host_link(self, node: str, up: bool) -> None:
        """Take a host's link down or up; the host's interface keeps its configuration."""
        if node not in self._cabling.hosts:
            raise TestbedError(f"{node} has no host port", remedy="name one of the fabric's NPUs")
        self.struck.add(End(node, HOST_PORT))
        self._panel.set_carrier(*_host(node), up)

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction; TestbedError if the kernel lacks a feature."""
        if direction not in (0, 1):
            raise TestbedError(f"link {name}: no direction {direction}", remedy="there are 0 and 1")
        link = self.link(name)
        if name in self._joined:
            self._impair(link, direction, how)
        self._wrong[name, direction] = how

    def _impair(self, link: Link, direction: int, how: Impairment) -> None:
        sender, receiver = _jacks(link) if direction == 0 else reversed(_jacks(link))
        self._panel.impair(
            sender,
            receiver,
            blocked=how.blocked,
            loss=how.loss,
            rate_bps=None if how.rate_bps is None else how.rate_bps / self._dilation,
            delay_s=how.extra_delay_ps * self._dilation / 1e12,
        )

    # -- circuits

    def cut(self, optical: str, low: int, high: int) -> None:
        """Tear a circuit down: frames on their way are lost, and both ends lose their carrier."""
        link = circuit_link(self._fabric, optical, (low, high))
        self._joined.discard(link.name)
        self.struck |= {link.a, link.b}
        self._panel.unpatch(*_jacks(link))
        self.carried.cut(link)

    def join(self, optical: str, low: int, high: int) -> None:
        """Set up a circuit between two dark ports."""
        link = circuit_link(self._fabric, optical, (low, high))
        self.carried.joined(link)
        self._join(link)
        for direction in (0, 1):
            if (link.name, direction) in self._wrong:
                self._impair(link, direction, self._wrong[link.name, direction])
        if link.name in self._failed:
            self._panel.set_carrier(*_jacks(link), False)

    # -- counters and captures

    def counters(self) -> Mapping[str, JackCounters]:
        """Return the counters of every jack by name."""
        return self._panel.counters()

    def settled_counters(self) -> Mapping[str, JackCounters]:
        """Return the counters once no frame is on its way, or after a second."""
        after = self.counters()
        for _ in range(_SETTLE_LOOKS):
            time.sleep(_SETTLE_SECONDS)
            before, after = after, self.counters()
            if before == after:
                break
        return after

    def record(self, name: str, path: Path, record: RunRecord) -> None:
        """Write the frames of a link, as its first end sees them, to a pcap file until close()."""
        jack, _ = _jacks(self.link(name))
        self._captures.append(self._panel.capture(jack, path, record))

    def recent(self, name: str, ps: Callable[[int], int]) -> Sequence[RecentFrame]:
        """Return the last frames of a link, tapped from the first call on; `ps` is the scenario's clock."""
        if name not in self._taps:
            jack, _ = _jacks(self.link(name))
            self._taps[name] = self._panel.tap(jack, ETHERTYPE, RECENT_FRAMES)
        # What the panel's interface at the first end sends has come from the second.
        return [
            RecentFrame(number, max(0, ps(at_ns)), int(sent), frame)
            for number, at_ns, sent, frame in self._taps[name].take()
        ]

    def forget(self, name: str) -> None:
        """Tap a link no longer."""
        if tap := self._taps.pop(name, None):
            tap.close()

    def close(self) -> None:
        """End all captures and taps."""
        for name in [*self._taps]:
            self.forget(name)
        for capture in self._captures:
            capture.terminate()
        for capture in self._captures:
            capture.wait()
        self._captures.clear()


def _jacks(link: Link) -> tuple[str, str]:
    return jack_at(link.a), jack_at(link.b)


def _host(node: str) -> tuple[str, str]:
    return jack_at(End(node, HOST_PORT)), host_jack(node)
