# SPDX-License-Identifier: Apache-2.0
"""What a testbed does, whatever is beneath: switches behind one P4Runtime address, links, hosts, a clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final

from emulation.circuits import CircuitSwitch
from emulation.fidelity import Measured
from emulation.traffic.host.agent import Agent
from emulation.traffic.host.iterations import Iterated
from emulation.traffic.host.stats import Outcome
from topologies import Fabric

__all__ = ["Host", "Impairment", "LinkUsage", "PacketInHandler", "PortHandler", "SwitchReport", "Testbed"]

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


@final
@dataclass(frozen=True, slots=True)
class SwitchReport:
    """Frames that a node's program sent, by port, and refused; and those handed in by packet-out."""

    sent: Mapping[int, int]
    refused: int
    packet_outs: int

    @classmethod
    def of(
        cls, sent_by_port_vl: Mapping[int, tuple[int, int]], refused: int, packet_outs: int
    ) -> "SwitchReport":
        """From the counter `tx_by_port_vl`, whose index is 4 x port + VL, all data being on VL 0 or 1."""
        sent: dict[int, int] = {}
        for index, (packets, _) in sent_by_port_vl.items():
            if packets:
                sent[index // 4] = sent.get(index // 4, 0) + packets
        return cls(sent, refused, packet_outs)


class Testbed(Protocol):
    """A fabric made real. Nothing runs before `start` and nothing is left after `stop`."""

    __test__ = False

    virtual: bool
    """Whether time passes only in run(), and in it only as events say."""
    dilation: int
    """Real time, in seconds, that a second of the testbed's own takes; 1 where time is virtual."""
    on_port: PortHandler | None
    on_packet_in: PacketInHandler | None
    circuits: Mapping[str, CircuitSwitch]
    """The fabric's optical switches, by name."""

    @property
    def fabric(self) -> Fabric: ...
    @property
    def addresses(self) -> Mapping[str, str]:
        """Of the P4Runtime server of each node, `host:port` or `unix:path`."""
        ...

    @property
    def device_ids(self) -> Mapping[str, int]:
        """P4Runtime device id by node."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """Wall-clock time of what coming up took, by stage; for the eye."""
        ...

    @property
    def now_ps(self) -> int: ...
    def start(self) -> None: ...
    def attach(self, node: str, host: Agent | Iterated) -> None:
        """Put an agent on the node's own side."""
        ...

    def stand_by(self, node: str) -> None:
        """Have the node's own side ready for an agent that restart() may bring, before time begins to run."""
        ...

    def restart(self, hosts: Mapping[str, Agent | Iterated]) -> None:
        """Put new agents on the own sides of nodes, now; who had one and is not named has none from now on.

        What nodes counted until then stays in the statistics of their outcome.
        """
        ...

    def give_up(self) -> None:
        """Take what has come up to now for the end, whoever is busy still: run() is not called again."""
        ...

    def packet_arrived(self, node: str) -> None:
        """For the P4Runtime client's `on_packet_in`; any thread may call it."""
        ...

    @property
    def busy(self) -> bool:
        """Whether an agent still has something to do."""
        ...

    def outcome(self, node: str) -> Outcome:
        """What has become of the agent of a node, once run() has returned True or after give_up()."""
        ...

    @property
    def delivered_bytes(self) -> int:
        """Of frames on the data VLs that have reached agents."""
        ...

    def delivered_bins(self) -> Sequence[int]:
        """The same, by bins of the width the testbed was made with, once run() has returned True."""
        ...

    @property
    def frames_without_link(self) -> int:
        """Frames that a program sent to a port that leads nowhere, or to a link that was down."""
        ...

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

    def measured(self, seen: Mapping[str, SwitchReport], steps: int) -> Measured:
        """What speaks for and against the times of a run in real time, once run() has returned True.

        `seen` is by node; `steps` counts the transfers of the longest chain in which each waits for the last.
        """
        ...

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """By link name: from its first to its second end, and back."""
        ...

    def record(self, name: str, path: Path) -> None:
        """Write what a link carries from now on, both ways, to a pcap file."""
        ...

    def check(self) -> None:
        """EmulationError when a part of it has failed, for whoever finds that something fails and not why."""
        ...

    def stop(self) -> None: ...
