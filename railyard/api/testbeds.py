# SPDX-License-Identifier: Apache-2.0
"""A fabric in virtual time, in this process: send frames by hand, take links down, read tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import final

from controller.errors import PlanError
from controller.plan.entry import BUCKETS
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.control.loop import ControlLoop
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.layers import NTH, TPH, Ether
from emulation.traffic.frames.values import VL_DATA
from emulation.traffic.host.participant import Output
from harness.frames.craft import Order, craft
from harness.run.boot import Booted, booted
from harness.run.observation.collect import link_of
from railyard.api.records import Record, entry_record, link_records
from topologies import Fabric

__all__ = ["ManualHost", "Testbed", "testbed"]

# Default times of a scenario: docs/use/scenarios.md.
_DETECT_PS = 10 * 10**6
_PROCESSING_PS = 5 * 10**6


@final
@dataclass(slots=True)
class ManualHost:
    """The host of an endpoint: sends the frames in `waiting`, and keeps arriving frames.

    `waiting` has (frame, virtual lane), `arrived` (time in ps, frame).
    """

    waiting: list[tuple[bytes, int]] = field(default_factory=list)
    arrived: list[tuple[int, bytes]] = field(default_factory=list)

    def start(self, now: int) -> Output:
        frames, self.waiting = self.waiting, []
        return frames, None

    def on_frame(self, frame: bytes, now: int) -> Output:
        self.arrived.append((now, frame))
        return [], None

    def on_timer(self, now: int) -> Output:
        return [], None


@final
class Testbed:
    """A running fabric with the tables of a plan, made by `testbed`; time passes only in `run`."""

    __test__ = False

    def __init__(self, plan: Plan, bed: EmbeddedTestbed, booted: Booted) -> None:
        self.plan = plan
        self._bed = bed
        self._booted = booted
        self._hosts = {node.name: ManualHost() for node in plan.fabric.endpoints}
        self._psn = 0

    @property
    def fabric(self) -> Fabric:
        """The fabric of the plan."""
        return self.plan.fabric

    @property
    def address(self) -> str:
        """HOST:PORT of the P4Runtime server; every switch answers under its device id."""
        return self._bed.address

    @property
    def device_ids(self) -> Mapping[str, int]:
        """P4Runtime device id of each node."""
        return self._bed.device_ids

    @property
    def now_us(self) -> float:
        """Virtual time in microseconds."""
        return self._bed.now_ps / 10**6

    def send(
        self, source: str, destination: str, *, bucket: int = 0, payload: bytes = bytes(16), count: int = 1
    ) -> None:
        """Send data frames from one endpoint to another now; they move when `run` lets time pass.

        Args:
            source: Endpoint that sends.
            destination: Endpoint that receives.
            bucket: Path bucket, 0 to 15, which selects one of the planned paths.
            payload: Content of each frame.
            count: Number of frames.

        Raises:
            RailyardError: A name is unknown or not an endpoint, or the payload is too long for a frame.
        """
        for name in (source, destination):
            self.fabric.node(name)
            if name not in self._hosts:
                raise PlanError(f"{name} is a switch and has no host", remedy="name two endpoints")
        if not 0 <= bucket < BUCKETS:
            raise PlanError(
                f"the path bucket {bucket} does not exist", remedy=f"give a bucket from 0 to {BUCKETS - 1}"
            )
        host = self._hosts[source]
        for _ in range(count):
            order = Order(source, destination, bucket=bucket, psn=self._psn, payload=payload)
            host.waiting.append((bytes(craft(self.fabric, order)), VL_DATA))
            self._psn = self._psn + 1 & 0xFFFFFF
        self._bed.attach(source, host)

    def run(self, until_us: float | None = None) -> None:
        """Let virtual time pass.

        Args:
            until_us: Virtual time to stop at, in microseconds; without it, time passes until no event is
                left.
        """
        self._bed.run(None if until_us is None else round(until_us * 10**6))

    def received(self, node: str | None = None) -> list[Record]:
        """Return the frames received by endpoints: node, time_us, source, psn, bucket, bytes.

        Args:
            node: Name of an endpoint; None means all endpoints.
        """
        if node is not None:
            self.fabric.node(node)
        return [
            {"node": name, "time_us": time_ps / 10**6, **_contents(self.fabric, frame)}
            for name, host in self._hosts.items()
            if node in (None, name)
            for time_ps, frame in host.arrived
        ]

    def cut(self, link: str) -> None:
        """Take a link down now; the controllers of its ends detect this 10 µs later and reroute."""
        self._bed.set_link(link, False)

    def restore(self, link: str) -> None:
        """Bring a link up again now."""
        self._bed.set_link(link, True)

    def links(self) -> list[Record]:
        """Return the counters of every link, a record for each direction, with the columns of `Result.links`.

        Busy shares refer to the virtual time until now.
        """
        return [
            record
            for name, usage in self._bed.link_usage().items()
            for record in link_records(link_of(self.fabric, name), usage, self._bed.now_ps)
        ]

    def entries(self, node: str) -> list[Record]:
        """Return the current table entries of a switch, read back over P4Runtime."""
        self.fabric.node(node)
        return [entry_record(node, entry) for entry in self._booted.client.read(node)]

    def _open(self) -> None:
        for name, host in self._hosts.items():
            self._bed.attach(name, host)
        ControlLoop(
            self._bed,
            self._booted.client,
            self.plan,
            mode="direct",
            detect_ps=_DETECT_PS,
            processing_ps=_PROCESSING_PS,
        )


@contextmanager
def testbed(
    fabric: Fabric,
    plan: Plan | None = None,  # noqa: PT028  (it is no test, whatever its name)
    *,
    address: str = "127.0.0.1:0",  # noqa: PT028
) -> Iterator[Testbed]:
    """Start a fabric in virtual time with the tables of a plan; stop it when the block ends.

    Args:
        fabric: The fabric.
        plan: Plan of this fabric; without it, the plan that `plan(fabric)` returns.
        address: HOST:PORT of the P4Runtime server; port 0 takes a free port.

    Raises:
        RailyardError: The plan belongs to another fabric, or the fabric cannot start.
    """
    if plan is not None and plan.fabric != fabric:
        raise PlanError(
            f"the plan is for another fabric, {plan.fabric.name}",
            remedy="pass the plan's own fabric, or leave the plan out",
        )
    plan = plan or make_plan(fabric)
    bed = EmbeddedTestbed(fabric, grpc_address=address)
    with booted(bed, plan) as up:
        running = Testbed(plan, bed, up)
        running._open()
        yield running


testbed.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


def _contents(fabric: Fabric, frame: bytes) -> Record:
    packet = Ether(frame)
    source = fabric.node_of(packet[NTH].scna)
    return {
        "source": source.name if source else "",
        "psn": packet[TPH].psn,
        "bucket": packet[NTH].lb & BUCKETS - 1,
        "bytes": len(frame),
    }
