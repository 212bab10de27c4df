# SPDX-License-Identifier: Apache-2.0
"""The interface of a testbed, embedded or Mininet: switches behind P4Runtime, links, hosts, a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from emulation.circuits import CircuitSwitch
from emulation.fidelity import Measured
from emulation.traffic.frames.values import NetworkHeader
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import Outcome
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.tree.spec import MemberSpec
from emulation.tree_testbed import TreeLostHandler, TreeTestbed
from topologies import Fabric

__all__ = [
    "RECENT_FRAMES",
    "ControlledTestbed",
    "DoneHandler",
    "Impairment",
    "IterationHandler",
    "LinkSample",
    "LinkUsage",
    "PacketInHandler",
    "PortHandler",
    "RecentFrame",
    "RepathHandler",
    "SwitchReport",
    "Testbed",
    "Watch",
    "WatchableTestbed",
]

RECENT_FRAMES = 16
"""Frames of a link that `WatchableTestbed.recent` returns at most."""

PortHandler = Callable[[str, int, bool], None]
"""Callback with a node, a port, and True if the port is up now."""

PacketInHandler = Callable[[str], None]
"""Callback with the node that sent a packet-in, once the P4Runtime client has the packet-in."""

DoneHandler = Callable[[str], None]
"""Callback with a node whose agent has ended."""

IterationHandler = Callable[[str, int], None]
"""Callback with a node, and the number of the iteration that has ended."""

RepathHandler = Callable[[str, int, frozenset[int]], None]
"""Callback with the node of an agent, the CNA of a peer, and the buckets whose paths to it are silent."""


@final
@dataclass(frozen=True, slots=True)
class Impairment:
    """Impairment of one direction of a link; by default no impairment.

    `blocked`: all frames are lost and the carrier stays. `loss` is the probability that a frame is lost,
    `rate_bps` replaces the link's own rate, and `extra_delay_ps` adds to its delay.
    """

    blocked: bool = False
    loss: float = 0.0
    rate_bps: int | None = None
    extra_delay_ps: int = 0


@final
@dataclass(frozen=True, slots=True)
class LinkUsage:
    """Counters of one direction of a link.

    `busy_ps` is the time spent sending. `lost_frames` were lost on the link or in its queue, when the link
    went down or by an impairment. `refused_frames` found the link down or its queue full; `full_queue_frames`
    counts only the frames that found the queue full. `trimmed_frames` found the queue full and lost only
    their payloads.

    With priority flow control, `pause_frames` counts pause frames sent on the direction, `overrun_frames`
    found no room in the receive buffer, and the watchdog ended `watchdog_ends` pauses and dropped
    `watchdog_frames` frames.
    """

    frames: int
    bytes: int
    busy_ps: int
    lost_frames: int
    refused_frames: int
    max_queued_bytes: int
    full_queue_frames: int = 0
    trimmed_frames: int = 0
    pause_frames: int = 0
    overrun_frames: int = 0
    watchdog_frames: int = 0
    watchdog_ends: int = 0


@final
@dataclass(frozen=True, slots=True)
class LinkSample:
    """State of all links at one time, in the order of `WatchableTestbed.link_names`, for display.

    `load` and `queue` have a byte for each direction, link by link: the share of the time since the last
    sample spent sending, and waiting bytes as a share of one receive buffer, or of the limit of a queue that
    has one; 255 means all, or more. `state` has a byte of flags a link: 1 up, 2 and 4 its first and its
    second direction impaired, 8 and 16 paused.
    """

    load: bytes
    queue: bytes
    state: bytes


@final
@dataclass(frozen=True, slots=True)
class RecentFrame:
    """A frame on a link: its number on the link, time in ps, direction and bytes."""

    number: int
    time_ps: int
    direction: int
    frame: bytes


class Watch(Protocol):
    """Observer of a running testbed: run() calls `tick` at `next_ps`, which `tick` advances.

    Watching never changes a run.
    """

    @property
    def next_ps(self) -> int:
        """Time of the next tick."""
        ...

    def tick(self) -> None:
        """Observe the testbed; virtual time stands still meanwhile."""
        ...


@final
@dataclass(frozen=True, slots=True)
class SwitchReport:
    """Counts of a node's program: frames sent by port, frames refused, packet-outs received."""

    sent: Mapping[int, int]
    refused: int
    packet_outs: int

    @classmethod
    def of(cls, sent_by_port_vl: NDArray[np.int64], refused: int, packet_outs: int) -> SwitchReport:
        """Return the report, given the packet counts of `tx_by_port_vl`, with index 4 x port + VL."""
        by_port = np.add.reduceat(sent_by_port_vl, np.arange(0, len(sent_by_port_vl), 4))
        ports = by_port.nonzero()[0]
        sent = dict(zip(ports.tolist(), by_port[ports].tolist(), strict=True))
        return cls(sent, refused, packet_outs)


class ControlledTestbed(Protocol):
    """Interface of a testbed for controllers: ports, links, P4Runtime addresses and time.

    Nothing runs before `start`, and nothing is left after `stop`.
    """

    __test__ = False

    network_header: NetworkHeader
    """Network header of frames on links."""
    virtual: bool
    """True if time is virtual: it passes in run() only, from event to event."""
    dilation: int
    """Real seconds for each second of the testbed's time; 1 if time is virtual."""
    on_port: PortHandler | None
    on_packet_in: PacketInHandler | None
    on_repath: RepathHandler | None
    circuits: Mapping[str, CircuitSwitch]
    """The fabric's optical switches, by name."""

    @property
    def fabric(self) -> Fabric:
        """Fabric emulated by the testbed."""
        ...

    @property
    def addresses(self) -> Mapping[str, str]:
        """Address of each node's P4Runtime server, `host:port` or `unix:path`."""
        ...

    @property
    def device_ids(self) -> Mapping[str, int]:
        """P4Runtime device id by node."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """Wall-clock seconds of each stage of start(), for display."""
        ...

    @property
    def now_ps(self) -> int:
        """Time of the testbed in picoseconds."""
        ...

    def start(self) -> None:
        """Make switches and links, and serve P4Runtime."""
        ...

    def packet_arrived(self, node: str) -> None:
        """Handle a packet-in, as the P4Runtime client's `on_packet_in`. Any thread may call it."""
        ...

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        """Tell a node's agent the buckets moved off a failed link or silent path, by destination CNA."""
        ...

    @property
    def delivered_bytes(self) -> int:
        """Bytes of frames delivered to agents on the data VLs."""
        ...

    def set_link(self, name: str, up: bool) -> None:
        """Take both directions of a link down or up; the ends lose or regain their carrier."""
        ...

    def set_host_link(self, node: str, up: bool) -> None:
        """Take the link to a node's host down or up."""
        ...

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` at the testbed's time `time_ps`."""
        ...

    def check(self) -> None:
        """Raise an EmulationError if a part of the testbed has failed; call it to explain a later error."""
        ...

    def stop(self) -> None:
        """Remove everything set up by the testbed."""
        ...


class Testbed(ControlledTestbed, TreeTestbed, Protocol):
    """Interface of a testbed: a running fabric, with agents on its hosts, in virtual or real time."""

    threads: int
    """Number of threads that draw the arrays of agents and compare them."""

    def attach(self, node: str, host: MemoryAgent) -> None:
        """Put the agent of a memory pool on the node's host."""
        ...

    def attach_agents(
        self,
        specs: Mapping[str, AgentSpec | MemberSpec],
        *,
        on_done: DoneHandler | None = None,
        on_iteration: IterationHandler | None = None,
        on_tree_lost: TreeLostHandler | None = None,
    ) -> None:
        """Make agents by node, and put them on the hosts; during run() only on nodes given to stand_by().

        The callbacks get the node of an agent that ends, ends an iteration, or reports its tree as lost.
        """
        ...

    def stand_by(self, node: str) -> None:
        """Prepare a node's host, before run(), for an agent that is attached later."""
        ...

    def set_level(self, node: str, level: int) -> None:
        """Set the service level of the data of a node's agent from its next iteration on."""
        ...

    def restart(
        self, specs: Mapping[str, AgentSpec], *, on_iteration: IterationHandler | None = None
    ) -> None:
        """Replace all agents now; a node without an entry in `specs` has no agent from now on.

        Statistics of the replaced agents stay in the outcome of their node.
        """
        ...

    def give_up(self) -> None:
        """End the run now, even with busy agents; run() is not called again."""
        ...

    @property
    def busy(self) -> bool:
        """True while an agent still has something to do."""
        ...

    def outcome(self, node: str) -> Outcome | MemoryAgent:
        """Return the outcome of a node's agent so far; final after run() has returned True or give_up().

        Until then the outcome of an agent in another process has no array and no counts.
        """
        ...

    def delivered_bins(self) -> Sequence[int]:
        """Return `delivered_bytes` in time bins of the testbed's width, once run() has returned True."""
        ...

    @property
    def frames_without_link(self) -> int:
        """Frames that a program sent to a port without a link, or to a link that was down."""
        ...

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction; 0 leads from the link's first end to its second."""
        ...

    def send_pause(self, name: str, direction: int, stop: bool) -> None:
        """Send a pause frame (IEEE 802.1Qbb) on a direction; its receiver stops or resumes all classes.

        Raises:
            TestbedError: The link has no priority flow control; links in real time never have.
        """
        ...

    def run(self, until_ps: int | None = None) -> bool:
        """Let time pass; return True when no event is left, False when `until_ps` is reached."""
        ...

    def measured(self, seen: Mapping[str, SwitchReport], steps: int) -> Measured:
        """Return the measurements of a run in real time, for `fidelity.judge`, once run() has returned True.

        `seen` has the report of each node's switch; `steps` is the number of transfers in the longest chain
        of transfers that wait for each other.
        """
        ...

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of each link by name: from its first to its second end, and the reverse."""
        ...

    def host_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of each node's link to its host, from and to the host; empty if not counted."""
        ...

    def record(self, name: str, path: Path) -> None:
        """Write the frames of a link, in both directions, from now on to a pcap file."""
        ...


class WatchableTestbed(Testbed, Protocol):
    """A testbed whose links, and counters of agents and links, can be observed while it runs."""

    watch: Watch | None
    """Watch of run(), if any; set before run() is first called."""

    @property
    def least_tick_ps(self) -> int:
        """Least time between two ticks of a watch."""
        ...

    @property
    def link_names(self) -> Sequence[str]:
        """Names of the links reported by `sample`; circuits follow in the order of their first use."""
        ...

    def sample(self) -> LinkSample:
        """Return the state of all links since the last sample."""
        ...

    def queued(self, name: str, direction: int) -> Mapping[int, int]:
        """Return the bytes queued for a direction of a link, by VL; empty VLs are left out."""
        ...

    def recent(self, name: str) -> Sequence[RecentFrame]:
        """Return the last 16 frames of a link, oldest first; frames are kept from the first call on."""
        ...

    def forget(self, name: str) -> None:
        """Stop keeping frames of a link."""
        ...

    def settle(self) -> None:
        """Advance virtual time to the next picosecond without an event; do nothing in real time.

        A fault applied after this acts like a fault that a scenario schedules for that time.
        """
        ...

    def check_event(self, event: str) -> None:
        """Raise an EmulationError if this testbed cannot carry out an event of `emulation.faults.EVENTS`."""
        ...
