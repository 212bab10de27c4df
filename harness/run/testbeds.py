# SPDX-License-Identifier: Apache-2.0
"""Choice of the testbed that runs a variant, and the embedded testbed, which runs in virtual time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, final

from emulation.embedded.queues import PauseLimits, QueueLimit
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import MachineError
from emulation.testbed import WatchableTestbed
from emulation.traffic.frames.wire import DATA_HEADER_BYTES, SRH_BYTES
from harness.run.estimated_memory import check_memory
from harness.run.prepare import Prepared
from harness.scenario.link import QueueClass, QueueSettings
from topologies import Fabric

__all__ = ["Embedded", "TestbedChoice", "in_one_partition", "processors", "queue_limits"]


PAUSE_FRAME_BYTES = 64


def processors() -> int:
    """Return the number of processors available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TestbedChoice(Protocol):
    """Choice of the testbed for the runs of a scenario; makes a testbed for each run.

    The result of a run records `name` and `switch`. The command that repeats the run contains `options`.
    """

    __test__ = False

    @property
    def name(self) -> str:
        """Name of the testbed."""
        ...

    @property
    def switch(self) -> str:
        """Kind of switches; empty if the testbed has only one kind."""
        ...

    @property
    def options(self) -> Sequence[str]:
        """Command-line options that choose the testbed."""
        ...

    def check_machine(self, *, captures: bool) -> None:
        """Raise a TestbedError if this machine cannot run any scenario; called before planning."""
        ...

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Raise a TestbedError if this machine cannot run all variants; called before any of them starts.

        `captures` is true if frames of links will be recorded.
        """
        ...

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> WatchableTestbed:
        """Return a testbed for a variant.

        `bin_ps` is the width of the bins in which the testbed counts delivered bytes. With `captures`, frames
        of links will be recorded.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class Embedded:
    """Choice of the embedded testbed: virtual time, in this process.

    Several `threads` run partitions of the fabric in parallel; with `whole` the fabric is one partition.
    Neither setting changes a result.
    """

    name: str = "embedded"
    switch: str = ""
    # Not in the repr, which is part of the key of resumed variants: threads change no result.
    threads: int = field(default=1, repr=False)
    whole: bool = field(default=False, repr=False)

    @property
    def options(self) -> Sequence[str]:
        """Empty, because the embedded testbed is the default."""
        return ()

    def check_machine(self, *, captures: bool) -> None:
        """Raise a MachineError if this machine lacks processors for the threads."""
        if self.threads > (available := processors()):
            raise MachineError(
                f"the run asks for {self.threads} threads, and this process may use {available} processors",
                remedy=f"use at most {available} threads; more threads than processors are slower",
            )

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Raise a MachineError if this machine lacks memory or processors for a run."""
        self.check_machine(captures=captures)
        check_memory(prepared)

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> EmbeddedTestbed:
        """Return an embedded testbed for a variant; it can always record links."""
        link = ready.variant.link
        return EmbeddedTestbed(
            ready.fabric,
            credit_bytes=link.credit_bytes,
            scheduler=link.scheduler,
            bin_ps=bin_ps,
            seed=seed,
            network_header=link.network_header,
            threads=self.threads if ready.pool is None and not ready.reduces else 1,
            demand=None if self.whole or not _in_partitions(ready) else ready.demand,
            queues=queue_limits(link.queues),
            port_queues={
                direction: limits
                for direction, port in ready.ports.items()
                if (limits := queue_limits(port.queues)) is not None
            },
            pauses=pause_limits(ready),
        )


def queue_limits(queues: Mapping[QueueClass, QueueSettings] | None) -> Mapping[str, QueueLimit] | None:
    """Return the limits of queues; None without queues, for links with credits."""
    if queues is None:
        return None
    return {
        name: QueueLimit(queue.bytes or 0, queue.frames or 0, queue.trim) for name, queue in queues.items()
    }


def pause_limits(ready: Prepared) -> PauseLimits | None:
    """Return the limits of priority flow control; None if the links of the variant have none."""
    pfc = ready.variant.link.pfc
    if pfc is None:
        return None
    headroom = pfc.headroom_bytes
    if headroom is None:
        headroom = headroom_bytes(ready.fabric, _largest_frame(ready))
    watchdog = 0 if pfc.watchdog_us is None else round(pfc.watchdog_us * 10**6)
    return PauseLimits(pfc.xoff_bytes, pfc.xon, headroom, watchdog, round(pfc.restore_us * 10**6))


def headroom_bytes(fabric: Fabric, frame_bytes: int) -> int:
    """Return the largest number of bytes that any link can deliver after a buffer has asked for a pause.

    Data fills the link for a round trip. A frame of the largest size may delay the pause frame, the sender
    may finish a second such frame after the pause frame arrives, and a third frame took the buffer above its
    limit.
    """
    ways = [(link.rate_bps, link.delay_ps) for link in fabric.links]
    ways.append((fabric.host_lanes * fabric.lane_rate_bps, fabric.host_delay_ps))
    on_wire = max(-(-2 * rate * delay // (8 * 10**12)) for rate, delay in ways)
    return on_wire + 3 * frame_bytes + PAUSE_FRAME_BYTES


def _largest_frame(ready: Prepared) -> int:
    payload = max((job.collective.payload_bytes for job in ready.jobs), default=4096)
    return payload + DATA_HEADER_BYTES + SRH_BYTES


def _in_partitions(ready: Prepared) -> bool:
    """Return whether this variant's fabric may be divided into partitions that advance independently.

    Agents in Python (memory pools, members of trees, a user's congestion control) and jobs whose agents call
    back need all partitions at the same time. While a controller's frame is in flight, partitions take turns
    event by event; hellos are always in flight, so partitions would gain nothing. With priority flow control
    the fabric is not divided either.
    """
    control = ready.variant.control
    alone = control.circuits != "per-job" and control.scheduler == "none" and control.hello_us is None
    congestion = ready.transport.congestion
    native = congestion is None or not congestion.own
    return ready.pool is None and not ready.reduces and alone and native and ready.variant.link.pfc is None


def in_one_partition(choice: TestbedChoice) -> TestbedChoice:
    """Return the choice with the embedded fabric in one partition and one thread; other testbeds stay."""
    return replace(choice, threads=1, whole=True) if isinstance(choice, Embedded) else choice
