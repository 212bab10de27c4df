# SPDX-License-Identifier: Apache-2.0
"""What a testbed does, whatever is beneath: switches behind one P4Runtime address, links, hosts, a clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, final

from topologies import Fabric

__all__ = ["Host", "Impairment", "LinkUsage", "PacketInHandler", "PortHandler", "Testbed"]

Output = tuple[list[tuple[bytes, int]], int | None]
"""Frames to send, each with the VL it is queued on, and the next deadline in ps (None: none)."""

PortHandler = Callable[[str, int, bool], None]
"""Called with node, port and whether it is up now."""

PacketInHandler = Callable[[str], None]
"""Called with the node that sent a packet-in, once the P4Runtime client can take it."""


class Host(Protocol):
    """What sits on a node's own port: a sans-IO state machine. Times are picoseconds."""

    def start(self, now: int) -> Output: ...
    def on_frame(self, frame: bytes, now: int) -> Output: ...
    def on_timer(self, now: int) -> Output: ...


@final
@dataclass(frozen=True, slots=True)
class Impairment:
    """What is wrong with one direction of a link; the default is nothing.

    `blocked`: frames vanish, the carrier stays. `loss` is the probability that a frame vanishes, `rate_bps`
    stands in the place of the link's own rate, and `extra_delay_ps` adds to its delay.
    """

    blocked: bool = False
    loss: float = 0.0
    rate_bps: int | None = None
    extra_delay_ps: int = 0


@final
@dataclass(frozen=True, slots=True)
class LinkUsage:
    """What a link carried one way. `busy_ps` is the time it was sending; `lost_frames` died with the link."""

    frames: int
    bytes: int
    busy_ps: int
    lost_frames: int
    refused_frames: int
    max_queued_bytes: int


class Testbed(Protocol):
    """A fabric made real. Nothing runs before `start` and nothing is left after `stop`."""

    __test__ = False

    virtual: bool
    """Whether time passes only in run(), and in it only as events say."""
    on_port: PortHandler | None
    on_packet_in: PacketInHandler | None

    @property
    def fabric(self) -> Fabric: ...
    @property
    def address(self) -> str:
        """Of the P4Runtime server, `host:port`."""
        ...

    @property
    def device_ids(self) -> Mapping[str, int]:
        """P4Runtime device id by node."""
        ...

    @property
    def now_ps(self) -> int: ...
    def start(self) -> None: ...
    def attach(self, node: str, host: Host) -> None: ...
    def set_link(self, name: str, up: bool) -> None:
        """Both directions, at once; both ends lose their carrier."""
        ...

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Direction 0 leads from the link's first end to its second. In place of what was wrong before."""
        ...

    def set_host_link(self, node: str, up: bool) -> None:
        """The link to the node's own side."""
        ...

    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def run(self, until_ps: int | None = None) -> bool:
        """True when nothing is left to happen, False when `until_ps` was reached."""
        ...

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """By link name: from its first to its second end, and back."""
        ...

    def stop(self) -> None: ...
