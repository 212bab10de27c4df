# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric as connections between endpoints of this machine's cross-connect."""

import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, final

from emulation.linux import kernel
from emulation.linux.frame_tap import FrameTap
from emulation.linux.record import RunRecord
from emulation.mininet.links.cabling import Cabling, endpoint_at, host_endpoint, tunnel_endpoint
from emulation.mininet.links.counters import EndpointCounters
from emulation.mininet.links.cross_connect import CrossConnect
from emulation.mininet.links.endpoints import Tunnel
from emulation.testbed import RECENT_FRAMES, Impairment
from emulation.traffic.frames.values import ETHERTYPE
from topologies import HOST_PORT, End, Fabric, Link

__all__ = ["LinkConnections", "LocalConnections", "Tapped"]

# Links faster than this have no rate limit: no kernel queue could keep it.
_MOST_SHAPED_BPS = 20e9
# There are no credits: frames wait in a queue with room for all that the transport windows allow.
_QUEUE_BYTES = 16 << 20

Tapped = tuple[int, int, bool, bytes]
"""A tapped frame: (number, monotonic time in ns, True if from the link's second end, bytes)."""


class LinkConnections(Protocol):
    """Connections of a fabric's links, on this machine or on several."""

    @property
    def hosts(self) -> Collection[str]:
        """Nodes with a host."""
        ...

    def limiters(self, rate_bps: float) -> frozenset[str]:
        """Return the mechanisms that limit links of `rate_bps`, on all machines of the fabric.

        A mechanism is "tbf", "htb", "switch", or "" for none.
        """
        ...

    def join(self, link: Link) -> None:
        """Connect the two ends of a link."""
        ...

    def cut(self, link: Link) -> None:
        """Separate the ends of a link: frames on their way are lost, and both ends lose their carrier."""
        ...

    def set_carrier(self, link: Link, up: bool) -> None:
        """Take the carrier from both ends of a connected link, or restore it."""
        ...

    def set_host_carrier(self, node: str, up: bool) -> None:
        """Take the carrier from both ends of a host's link, or restore it."""
        ...

    def impair(self, link: Link, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction of a connected link."""
        ...

    def counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters of every endpoint with a device, by name."""
        ...

    def record(self, link: Link, path: Path, record: RunRecord) -> None:
        """Write the frames of a link, as its first end sees them, to a pcap file until close()."""
        ...

    def recent(self, link: Link) -> Sequence[Tapped]:
        """Return the last frames of a link, tapped from the first call on."""
        ...

    def forget(self, link: Link) -> None:
        """Stop tapping a link: its last frames are no longer kept."""
        ...

    def close(self) -> None:
        """End all captures and taps."""
        ...


@final
class LocalConnections:
    """`LinkConnections` on this machine: rates are divided by `dilation`, delays multiplied by it.

    With `lanes`, frames of a higher service level go first. `paced`: the switches can limit the rates of
    links if the kernel lacks the queue for it.
    """

    def __init__(
        self,
        fabric: Fabric,
        cross_connect: CrossConnect,
        cabling: Cabling,
        dilation: int,
        *,
        lanes: bool = False,
        paced: bool = False,
    ) -> None:
        self._fabric = fabric
        self._cross_connect = cross_connect
        self._cabling = cabling
        self._dilation = dilation
        self._lanes = lanes
        self._paced = paced
        self._taps: dict[str, FrameTap] = {}
        self._captures: list[subprocess.Popen[bytes]] = []

    def connect(self) -> None:
        """Make all endpoints, and connect every link and every host."""
        self._cross_connect.add(self._cabling.endpoints)
        for link in self._fabric.links:
            self.join(link)
        host_bps = self._fabric.host_lanes * self._fabric.lane_rate_bps
        for node in self._cabling.hosts:
            self._cross_connect.connect(*_host(node), **self._shape(host_bps))

    def joined_ends(self) -> Iterator[End]:
        """Yield the ports of this machine's switches that `connect` connects, host ports included."""
        for link in self._fabric.links:
            yield from (end for end in (link.a, link.b) if (end.node, end.port) in self._cabling.interfaces)
        yield from (End(node, HOST_PORT) for node in self._cabling.hosts)

    @property
    def hosts(self) -> Collection[str]:
        return self._cabling.hosts

    def limiters(self, rate_bps: float) -> frozenset[str]:
        """Return the rate limiter of links of `rate_bps`: "tbf", "htb", "switch", or "" for none."""
        return frozenset({self._limiter(rate_bps)})

    def _limiter(self, rate_bps: float) -> str:
        name, limit = ("htb", kernel.HTB) if self._lanes else ("tbf", kernel.TBF)
        if rate_bps / self._dilation > _MOST_SHAPED_BPS:
            return ""
        if limit in kernel.missing():
            return "switch" if self._paced else ""
        return name

    def switch_rates(self) -> Mapping[tuple[str, int], float]:
        """Return the real rates in bit/s that the switches themselves have to limit, by node and port."""
        fabric = self._fabric
        rates = {end: link.rate_bps for link in fabric.links for end in (link.a, link.b)}
        rates |= {end: optical.rate_bps for optical in fabric.optical for end in optical.ends}
        host_bps = fabric.host_lanes * fabric.lane_rate_bps
        rates |= {End(node, HOST_PORT): host_bps for node in self._cabling.hosts}
        return {
            (end.node, end.port): rate / self._dilation
            for end, rate in rates.items()
            if (end.node, end.port) in self._cabling.interfaces and self._limiter(rate) == "switch"
        }

    def _shape(self, rate_bps: float) -> dict[str, Any]:
        if self._limiter(rate_bps) in ("", "switch"):
            return {}
        real = rate_bps / self._dilation
        return {"rate_bps": real, "queue_bytes": _QUEUE_BYTES, "lanes": self._lanes}

    # -- links

    def join(self, link: Link, tunnel: tuple[End, Tunnel] | None = None) -> None:
        """Connect the two ends of a link; make `tunnel` first, for an end that is on another machine."""
        if tunnel is not None:
            self._cross_connect.add([tunnel_endpoint(*tunnel, self._cabling.mtu)])
        self._cross_connect.connect(*_endpoints(link), **self._shape(link.rate_bps))

    def cut(self, link: Link) -> None:
        self._cross_connect.disconnect(*_endpoints(link))
        for endpoint in _endpoints(link):
            self._cross_connect.remove_tunnel(endpoint)

    def set_carrier(self, link: Link, up: bool) -> None:
        self._cross_connect.set_carrier(*_endpoints(link), up)

    def set_host_carrier(self, node: str, up: bool) -> None:
        self._cross_connect.set_carrier(*_host(node), up)

    def impair(self, link: Link, direction: int, how: Impairment) -> None:
        """Replace the impairment of direction 0 or 1; TestbedError if the kernel lacks a feature."""
        sender, receiver = _endpoints(link) if direction == 0 else reversed(_endpoints(link))
        self._cross_connect.impair(
            sender,
            receiver,
            blocked=how.blocked,
            loss=how.loss,
            rate_bps=None if how.rate_bps is None else how.rate_bps / self._dilation,
            delay_s=how.extra_delay_ps * self._dilation / 1e12,
        )

    # -- counters and captures

    def counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters of every endpoint by name."""
        return self._cross_connect.counters()

    def record(self, link: Link, path: Path, record: RunRecord) -> None:
        endpoint, _ = _endpoints(link)
        self._captures.append(self._cross_connect.capture(endpoint, path, record))

    def end_captures(self) -> None:
        """End all captures; afterwards their files are complete."""
        for capture in self._captures:
            capture.terminate()
        for capture in self._captures:
            capture.wait()
        self._captures.clear()

    def recent(self, link: Link) -> Sequence[Tapped]:
        if link.name not in self._taps:
            endpoint, _ = _endpoints(link)
            self._taps[link.name] = self._cross_connect.tap(endpoint, ETHERTYPE, RECENT_FRAMES)
        # The tap is at the inner interface of the first end; frames sent by it come from the second end.
        return self._taps[link.name].take()

    def forget(self, link: Link) -> None:
        if tap := self._taps.pop(link.name, None):
            tap.close()

    def close(self) -> None:
        for tap in self._taps.values():
            tap.close()
        self._taps.clear()
        self.end_captures()


def _endpoints(link: Link) -> tuple[str, str]:
    return endpoint_at(link.a), endpoint_at(link.b)


def _host(node: str) -> tuple[str, str]:
    return endpoint_at(End(node, HOST_PORT)), host_endpoint(node)
