# SPDX-License-Identifier: Apache-2.0
"""Samples of links in real time: loads, waiting bytes and states, from the counters of the cross-connect."""

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
    """Samples of a fabric's links; `buffer_bytes` is the receive buffer that waiting bytes are a share of.

    Bytes count as sent when they have left the queue that holds their link to its rate.
    """

    def __init__(self, fabric: Fabric, links: Links, buffer_bytes: int) -> None:
        self._fabric = fabric
        self._links = links
        self._buffer_bytes = buffer_bytes
        self._first = self._last = links.counters()
        self._at_ps = 0

    def take(self, now_ps: int) -> LinkSample:
        """Return the state of all links since the last sample."""
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
        """Return the usage of each link up to the last sample."""
        circuits = self._links.carried.spans()
        last = self._links.counters() if circuits else self._last
        return usage(self._fabric, Between(self._first, last), circuits)

    def waiting(self, name: str, direction: int) -> int:
        """Return the bytes that waited for a direction of a link at the last sample."""
        link = self._links.link(name)
        return self._last[endpoint_at(link.a if direction else link.b)].waiting_bytes


def _share(part: int, whole: int) -> int:
    """Return part / whole as a byte: 0 for none only, 255 for all and more."""
    return min(255, math.ceil(255 * part / whole)) if part > 0 < whole else 0
