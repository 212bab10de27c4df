# SPDX-License-Identifier: Apache-2.0
"""What a testbed does, whatever is beneath: switches behind one P4Runtime address, links, hosts, a clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, final

from topologies import Fabric

__all__ = ["Host", "LinkUsage", "PortHandler", "Testbed"]

Output = tuple[list[tuple[bytes, int]], int | None]
"""Frames to send, each with the VL it is queued on, and the next deadline in ps (None: none)."""

PortHandler = Callable[[str, int, bool], None]
"""Called with node, port and whether it is up now."""


class Host(Protocol):
    """What sits on a node's own port: a sans-IO state machine. Times are picoseconds."""

    def start(self, now: int) -> Output: ...
    def on_frame(self, frame: bytes, now: int) -> Output: ...
    def on_timer(self, now: int) -> Output: ...


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
    def set_link(self, name: str, up: bool) -> None: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def run(self, until_ps: int | None = None) -> bool:
        """True when nothing is left to happen, False when `until_ps` was reached."""
        ...

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """By link name: from its first to its second end, and back."""
        ...

    def stop(self) -> None: ...
