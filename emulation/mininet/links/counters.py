# SPDX-License-Identifier: Apache-2.0
"""Counters of the endpoints of a cross-connect, all read by two netlink dumps."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from emulation.linux import requests
from emulation.linux.netlink import RouteSocket, attributes

__all__ = ["EndpointCounters", "queue_drops", "read"]

_STATS = struct.Struct("=8Q")  # of rtnl_link_stats64: packets, bytes, errors, dropped; each received, sent
_STATS_INDEX = struct.Struct("=xxxxI")
_STATS_HEAD = 12  # if_stats_msg
_TC_INDEX = struct.Struct("=xxxxiIII")  # of tcmsg: index, handle, parent, info
_TC_HEAD = 20
_QUEUE = struct.Struct("=5I")  # frames and bytes that wait, drops, requeues, overlimits
_TCA_KIND, _TCA_STATS2, _TCA_STATS_QUEUE = 1, 7, 3
_LINK_64 = 1  # IFLA_STATS_LINK_64


@final
@dataclass(frozen=True, slots=True)
class EndpointCounters:
    """Counters of an endpoint since its creation: frames `from_` its device, and frames `to_` its device.

    `from_dropped_veth`: no room in a processor's backlog on the way to the inner side, or no connection;
    `from_dropped_filter`: dropped by the filter of an impaired link;
    `to_dropped_queue`: no room in the queue of a link with a rate;
    `to_dropped_veth`: no room in a processor's backlog on the way to the device;
    `waiting_frames`, `waiting_bytes`: in the queue to the device at present.
    Frames in the queue when a link is cut are lost and not counted.
    """

    from_frames: int
    from_bytes: int
    to_frames: int
    to_bytes: int
    from_dropped_veth: int
    from_dropped_filter: int
    to_dropped_queue: int
    to_dropped_veth: int
    waiting_frames: int
    waiting_bytes: int

    def __add__(self, other: "EndpointCounters") -> "EndpointCounters":
        """Add the counters of two endpoints."""
        return EndpointCounters(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@final
@dataclass(frozen=True, slots=True)
class _Queue:
    index: int
    filters: bool
    drops: int
    frames: int
    bytes: int


def read(
    route: RouteSocket, names: Mapping[int, str], kept_drops: Mapping[str, int]
) -> dict[str, EndpointCounters]:
    """Return the counters of endpoints, by name of the endpoint.

    `names` has the name of each endpoint by the interface index of its inner side. `kept_drops` are the
    dropped frames of deleted queues, by name of the endpoint.
    """
    links = dict(_links(route))
    dropped, filtered = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    frames, octets = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for queue in _queues(route):
        if queue.index not in names:
            continue
        if queue.filters:
            filtered[queue.index] = queue.drops
        else:
            dropped[queue.index] = queue.drops
            frames[queue.index], octets[queue.index] = queue.frames, queue.bytes
    counted: dict[str, EndpointCounters] = {}
    for index, name in names.items():
        rx_frames, tx_frames, rx_bytes, tx_bytes, _, _, rx_dropped, tx_dropped = links.get(index, (0,) * 8)
        counted[name] = EndpointCounters(
            from_frames=rx_frames,
            from_bytes=rx_bytes,
            to_frames=tx_frames,
            to_bytes=tx_bytes,
            from_dropped_veth=rx_dropped,
            from_dropped_filter=filtered[index],
            to_dropped_queue=dropped[index] + kept_drops.get(name, 0),
            to_dropped_veth=tx_dropped,
            waiting_frames=frames[index],
            waiting_bytes=octets[index],
        )
    return counted


def queue_drops(route: RouteSocket, index: int) -> int:
    """Return the frames dropped by the egress queue of interface `index`; 0 without a queue."""
    return sum(queue.drops for queue in _queues(route) if queue.index == index and not queue.filters)


def _links(route: RouteSocket) -> Iterator[tuple[int, tuple[int, ...]]]:
    for _, content in route.dump(requests.stats_dump()):
        (index,) = _STATS_INDEX.unpack_from(content)
        for kind, value in attributes(content[_STATS_HEAD:]):
            if kind == _LINK_64:
                yield index, _STATS.unpack_from(value)


def _queues(route: RouteSocket) -> Iterator[_Queue]:
    """Yield root queues (their drops include child queues) and clsact qdiscs (`filters`)."""
    for _, content in route.dump(requests.queue_dump()):
        index, _, parent, _ = _TC_INDEX.unpack_from(content)
        fields = dict(attributes(content[_TC_HEAD:]))
        filters = bytes(fields[_TCA_KIND]) == b"clsact\0"
        if filters or parent == requests.ROOT:
            for kind, value in attributes(fields.get(_TCA_STATS2, memoryview(b""))):
                if kind == _TCA_STATS_QUEUE:
                    frames, octets, drops, _, _ = _QUEUE.unpack_from(value)
                    yield _Queue(index, filters, drops, frames, octets)
