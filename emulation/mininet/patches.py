# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric as patches between jacks of this machine's patch panel."""

import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, final

from emulation.linux import kernel
from emulation.linux.frame_tap import FrameTap
from emulation.linux.record import RunRecord
from emulation.mininet.cabling import Cabling, host_jack, jack_at, tunnel_jack
from emulation.mininet.counters import JackCounters
from emulation.mininet.jacks import Tunnel
from emulation.mininet.patch import PatchPanel
from emulation.testbed import RECENT_FRAMES, Impairment
from emulation.traffic.frames.values import ETHERTYPE
from topologies import HOST_PORT, End, Fabric, Link

__all__ = ["LinkPatches", "Patches", "Tapped"]

# Links faster than this stay unshaped: no kernel queue could hold them to their rate.
_MOST_SHAPED_BPS = 20e9
# Instead of waiting for credits, frames wait in a queue that holds what the transport windows allow.
_QUEUE_BYTES = 16 << 20

Tapped = tuple[int, int, bool, bytes]
"""A tapped frame: number, monotonic time in ns, whether it came from the link's second end, and its bytes."""


class LinkPatches(Protocol):
    """Patches of a fabric's links, on this machine or on several."""

    @property
    def hosts(self) -> Collection[str]:
        """Nodes with a host."""
        ...

    def limiter(self, rate_bps: float) -> str:
        """Return what holds links of a rate to it: "tbf", "htb", "switch", or "" for nothing."""
        ...

    def join(self, link: Link) -> None:
        """Patch the ends of a link together."""
        ...

    def cut(self, link: Link) -> None:
        """Separate the ends of a link: frames on their way are lost, and both ends lose their carrier."""
        ...

    def set_carrier(self, link: Link, up: bool) -> None:
        """Take the carrier from both ends of a patched link, or restore it."""
        ...

    def set_host_carrier(self, node: str, up: bool) -> None:
        """Take the carrier from both ends of a host's link, or restore it."""
        ...

    def impair(self, link: Link, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction of a patched link."""
        ...

    def counters(self) -> Mapping[str, JackCounters]:
        """Return the counters of every jack with a device, by name."""
        ...

    def record(self, link: Link, path: Path, record: RunRecord) -> None:
        """Write the frames of a link, as its first end sees them, to a pcap file until close()."""
        ...

    def recent(self, link: Link) -> Sequence[Tapped]:
        """Return the last frames of a link, tapped from the first call on."""
        ...

    def forget(self, link: Link) -> None:
        """Tap a link no longer."""
        ...

    def close(self) -> None:
        """End all captures and taps."""
        ...


@final
class Patches:
    """Patches on a panel, in dilated time: rates are divided by `dilation`, delays multiplied by it.

    With `lanes`, frames of a higher service level go first. `paced`: switches can keep rates by themselves
    where the kernel has no queue for them.
    """

    def __init__(
        self,
        fabric: Fabric,
        panel: PatchPanel,
        cabling: Cabling,
        dilation: int,
        *,
        lanes: bool = False,
        paced: bool = False,
    ) -> None:
        self._fabric = fabric
        self._panel = panel
        self._cabling = cabling
        self._dilation = dilation
        self._lanes = lanes
        self._paced = paced
        self._taps: dict[str, FrameTap] = {}
        self._captures: list[subprocess.Popen[bytes]] = []

    def connect(self) -> None:
        """Make all jacks, and patch every link and every host."""
        self._panel.add(self._cabling.jacks)
        for link in self._fabric.links:
            self.join(link)
        host_bps = self._fabric.host_lanes * self._fabric.lane_rate_bps
        for node in self._cabling.hosts:
            self._panel.patch(*_host(node), **self._shape(host_bps))

    def joined_ends(self) -> Iterator[End]:
        """Yield the ports of this machine's switches that `connect` patches, ports to hosts included."""
        for link in self._fabric.links:
            yield from (end for end in (link.a, link.b) if (end.node, end.port) in self._cabling.interfaces)
        yield from (End(node, HOST_PORT) for node in self._cabling.hosts)

    @property
    def hosts(self) -> Collection[str]:
        """Nodes with a host."""
        return self._cabling.hosts

    def limiter(self, rate_bps: float) -> str:
        """Return what holds links of a rate to it: "tbf", "htb", "switch", or "" for nothing."""
        name, limit = ("htb", kernel.HTB) if self._lanes else ("tbf", kernel.TBF)
        if rate_bps / self._dilation > _MOST_SHAPED_BPS:
            return ""
        if limit in kernel.missing():
            return "switch" if self._paced else ""
        return name

    def switch_rates(self) -> Mapping[tuple[str, int], float]:
        """Return the real rates in bit/s that switches have to keep by themselves, by node and port."""
        fabric = self._fabric
        rates = {end: link.rate_bps for link in fabric.links for end in (link.a, link.b)}
        rates |= {end: optical.rate_bps for optical in fabric.optical for end in optical.ends}
        host_bps = fabric.host_lanes * fabric.lane_rate_bps
        rates |= {End(node, HOST_PORT): host_bps for node in self._cabling.hosts}
        return {
            (end.node, end.port): rate / self._dilation
            for end, rate in rates.items()
            if (end.node, end.port) in self._cabling.interfaces and self.limiter(rate) == "switch"
        }

    def _shape(self, rate_bps: float) -> dict[str, Any]:
        if self.limiter(rate_bps) in ("", "switch"):
            return {}
        real = rate_bps / self._dilation
        return {"rate_bps": real, "queue_bytes": _QUEUE_BYTES, "lanes": self._lanes}

    # -- links

    def join(self, link: Link, tunnel: tuple[End, Tunnel] | None = None) -> None:
        """Patch the ends of a link together; a `tunnel` is made first, for an end on another machine."""
        if tunnel is not None:
            self._panel.add([tunnel_jack(*tunnel, self._cabling.mtu)])
        self._panel.patch(*_jacks(link), **self._shape(link.rate_bps))

    def cut(self, link: Link) -> None:
        """Separate the ends of a link: frames on their way are lost, and both ends lose their carrier."""
        self._panel.unpatch(*_jacks(link))
        for jack in _jacks(link):
            self._panel.remove_tunnel(jack)

    def set_carrier(self, link: Link, up: bool) -> None:
        """Take the carrier from both ends of a patched link, or restore it."""
        self._panel.set_carrier(*_jacks(link), up)

    def set_host_carrier(self, node: str, up: bool) -> None:
        """Take the carrier from both ends of a host's link, or restore it."""
        self._panel.set_carrier(*_host(node), up)

    def impair(self, link: Link, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction; TestbedError if the kernel lacks a feature."""
        sender, receiver = _jacks(link) if direction == 0 else reversed(_jacks(link))
        self._panel.impair(
            sender,
            receiver,
            blocked=how.blocked,
            loss=how.loss,
            rate_bps=None if how.rate_bps is None else how.rate_bps / self._dilation,
            delay_s=how.extra_delay_ps * self._dilation / 1e12,
        )

    # -- counters and captures

    def counters(self) -> Mapping[str, JackCounters]:
        """Return the counters of every jack by name."""
        return self._panel.counters()

    def record(self, link: Link, path: Path, record: RunRecord) -> None:
        """Write the frames of a link, as its first end sees them, to a pcap file until close()."""
        jack, _ = _jacks(link)
        self._captures.append(self._panel.capture(jack, path, record))

    def end_captures(self) -> None:
        """End all captures: their files are complete."""
        for capture in self._captures:
            capture.terminate()
        for capture in self._captures:
            capture.wait()
        self._captures.clear()

    def recent(self, link: Link) -> Sequence[Tapped]:
        """Return the last frames of a link, tapped from the first call on."""
        if link.name not in self._taps:
            jack, _ = _jacks(link)
            self._taps[link.name] = self._panel.tap(jack, ETHERTYPE, RECENT_FRAMES)
        # What the panel's interface at the first end sends has come from the second.
        return self._taps[link.name].take()

    def forget(self, link: Link) -> None:
        """Tap a link no longer."""
        if tap := self._taps.pop(link.name, None):
            tap.close()

    def close(self) -> None:
        """End all captures and taps."""
        for tap in self._taps.values():
            tap.close()
        self._taps.clear()
        self.end_captures()


def _jacks(link: Link) -> tuple[str, str]:
    return jack_at(link.a), jack_at(link.b)


def _host(node: str) -> tuple[str, str]:
    return jack_at(End(node, HOST_PORT)), host_jack(node)
