# SPDX-License-Identifier: Apache-2.0
"""Samples of links in real time: loads, waiting bytes and states, from the counters of endpoints."""

import math
from collections.abc import Mapping
from typing import final

from emulation.mininet.agents.measure import Between, usage
from emulation.mininet.links.cabling import endpoint_at
from emulation.mininet.links.links import Links
from emulation.testbed import LinkSample, LinkUsage
from topologies import Fabric

__all__ = ["Samples"]


@final
class Samples:
    """Samples of a fabric's links; waiting bytes are given as a share of `buffer_bytes`, a receive buffer.

    Bytes count as sent once they have left the queue that limits the rate of their link.
    """

    def __init__(self, fabric: Fabric, links: Links, buffer_bytes: int) -> None:
        self._fabric = fabric
        self._links = links
        self._buffer_bytes = buffer_bytes
        self._first = self._last = links.counters()
        self._at_ps = 0

    def take(self, now_ps: int) -> LinkSample:
        """Return loads since the last sample, and the present waiting bytes and states, of all links."""
        before, after = self._last, self._links.counters()
        since_ps, self._at_ps, self._last = now_ps - self._at_ps, now_ps, after
        load, queue, state = bytearray(), bytearray(), bytearray()
        for name in self._links.names:
            link = self._links.link(name)
            for receiver in map(endpoint_at, (link.b, link.a)):
                sent = after[receiver].to_bytes - before[receiver].to_bytes
                load.append(_share(8 * 10**12 * sent, link.rate_bps * since_ps))
                queue.append(_share(after[receiver].waiting_bytes, self._buffer_bytes))
            state.append(self._links.state(name))
        return LinkSample(bytes(load), bytes(queue), bytes(state))

    def usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of each link up to the last sample, or up to now if circuits have moved."""
        circuits = self._links.carried.spans()
        last = self._links.counters() if circuits else self._last
        return usage(self._fabric, Between(self._first, last), circuits)

    def waiting(self, name: str, direction: int) -> int:
        """Return the bytes queued for direction 0 or 1 of a link at the last sample."""
        link = self._links.link(name)
        return self._last[endpoint_at(link.a if direction else link.b)].waiting_bytes


def _share(part: int, whole: int) -> int:
    """Return part / whole in 255ths, rounded up: 0 only for an empty part, 255 for the whole or more."""
    return min(255, math.ceil(255 * part / whole)) if part > 0 < whole else 0
