# SPDX-License-Identifier: Apache-2.0
"""Choice of Mininet, in real time, as the testbed of a run; real seconds for a scenario's second."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import final

from emulation.errors import TestbedError
from emulation.linux.record import need_root
from emulation.mininet.cluster.cutting import cut
from emulation.mininet.cluster.machines import Machines
from emulation.mininet.cluster.orders import Needs
from emulation.mininet.cluster.testbed import MachinesTestbed
from emulation.mininet.machine import need_machine
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from emulation.traffic.memory.wire import HEADER_BYTES
from emulation.traffic.tree.wire import FRAME_BYTES
from harness.run.collectives.bounds import largest_ps
from harness.run.prepare import Prepared

__all__ = ["RealTime", "suggest_dilation"]

# Factor by which real time exceeds the processor time needed: queues stay short, and a frame waits for its
# link's rate, not for a processor.
_HEADROOM = 3.0

# Least length of a run that can be judged: emulation.fidelity.MIN_SECONDS.
_LEAST_SECONDS = 1.5

# Processor seconds in a rack on a machine of two cores, as docs/testbeds/performance.md has them: agents, per
# data frame with its share of an acknowledgement; switches, per frame and pass, with the kernel's part of the
# hop. Agents of a pool are in Python.
_AGENT_SECONDS = 40e-6
_POOL_AGENT_SECONDS = 130e-6
_PASS_SECONDS = {"builtin": 20e-6, "bmv2": 240e-6}

# Bytes of a frame beside its payload: headers, and the source route that the first switch adds.
_ROOM_BYTES = DATA_HEADER_BYTES + 8


@final
@dataclass(frozen=True, slots=True)
class RealTime:
    """Mininet in real time; without `dilation`, as slow as the processors at hand probably need.

    `machines` carry the fabric, as `machines_file` describes them; None: this machine alone.
    """

    switch: SwitchKind
    dilation: int | None = None
    machines: Machines | None = None
    machines_file: str = ""

    @property
    def name(self) -> str:
        """Name of the testbed."""
        return "mininet"

    @property
    def options(self) -> Sequence[str]:
        """Command-line options that choose the testbed."""
        slower = () if self.dilation is None else ("--dilation", str(self.dilation))
        spread = ("--machines", self.machines_file) if self.machines_file else ()
        return ("--testbed", "mininet", "--switch", self.switch, *slower, *spread)

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Raise a TestbedError that names a missing privilege, package or feature of the kernel."""
        proven = next((ready.variant for ready in prepared if ready.variant.expect == "deadlock"), None)
        if proven is not None:
            raise TestbedError(
                f"variant {proven.name} expects a deadlock: in real time a frame that finds a full queue is "
                "lost, so no frames wait for each other",
                remedy="leave out `expect: deadlock`, or take --testbed embedded",
            )
        lossy = next((ready.variant for ready in prepared if ready.variant.link.lossy), None)
        if lossy is not None:
            raise TestbedError(
                f"variant {lossy.name}: queues with limits of their own are those of links in virtual time",
                remedy="leave out `queues:`, or take --testbed embedded; `ecn_frames:` works here too",
            )
        wide = next(
            (ready.variant for ready in prepared if ready.variant.link.network_header != "cna16"), None
        )
        if wide is not None:
            raise TestbedError(
                f"variant {wide.name}: agents in real time know the CNA16 network header only",
                remedy="leave out `network_header:`, or take --testbed embedded",
            )
        if self.machines is not None:
            # Each machine is asked for its features when its part starts.
            need_root("a run over several machines")
            for ready in prepared:
                cut(ready.fabric, self.machines.machines)
            return
        delays = any(map(_has_delays, prepared))
        need_machine(delays=delays, captures=captures, lanes=any(map(_has_priorities, prepared)))

    def make(
        self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False
    ) -> MininetTestbed | MachinesTestbed:
        """Return a testbed in real time, slowed down by the dilation."""
        mtu = max(1500, _largest_payload(ready) + _ROOM_BYTES)
        buffer_bytes = ready.variant.link.credit_bytes
        # Marks tell the depth of queues, which switches know of their own queues only.
        frame_bytes = _largest_payload(ready) + _ROOM_BYTES if ready.transport.marks else None
        if self.machines is not None:
            return MachinesTestbed(
                ready.fabric,
                self.machines,
                switch=self.switch,
                dilation=self.dilation or partial(suggest_dilation, ready, self.switch),
                mtu=mtu,
                bin_ps=bin_ps,
                buffer_bytes=buffer_bytes,
                needs=Needs(delays=_has_delays(ready), captures=captures, lanes=_has_priorities(ready)),
                frame_bytes=frame_bytes,
            )
        return MininetTestbed(
            ready.fabric,
            switch=self.switch,
            dilation=self.dilation or suggest_dilation(ready, self.switch, os.cpu_count() or 1),
            mtu=mtu,
            bin_ps=bin_ps,
            buffer_bytes=buffer_bytes,
            lanes=_has_priorities(ready),
            frame_bytes=frame_bytes,
        )


def _has_delays(ready: Prepared) -> bool:
    """Return whether a fault delays a link."""
    return any(fault.event == "delay" for fault in ready.faults)


def _has_priorities(ready: Prepared) -> bool:
    """Return whether data of a run have different priorities."""
    return ready.variant.control.scheduler != "none" or any(job.level for job in ready.jobs)


def _largest_payload(ready: Prepared) -> int:
    """Return the bytes of the largest payload of a frame."""
    pool = 0 if ready.pool is None else HEADER_BYTES + ready.pool.settings.size
    pool = max(pool, FRAME_BYTES) if ready.reduces else pool
    return max([pool, *(job.collective.payload_bytes for job in ready.jobs)])


@final
@dataclass(frozen=True, slots=True)
class _Load:
    """Processor seconds of the agents of a job and of the switches, in `sending_ps` at best."""

    agents: float
    switches: float
    sending_ps: float


def suggest_dilation(ready: Prepared, switch: SwitchKind, processors: int) -> int:
    """Return real seconds per scenario second, to two digits, from the frames of a run and their cost.

    All jobs are assumed to send at the same time, each at its best rate; while they compute, nothing is busy.
    """
    loads = _loads(ready, switch)
    agents, switches = (
        sum(getattr(load, part) / load.sending_ps for load in loads) for part in ("agents", "switches")
    )
    # A process of the built-in switch keeps to one processor.
    alone = switches / max(1, processors // 2) if switch == "builtin" else 0.0
    seconds = max(_LEAST_SECONDS / ready.bound_ps, _HEADROOM * max((agents + switches) / processors, alone))
    return max(1, round(float(f"{seconds * 10**12:.1e}")))


def _loads(ready: Prepared, switch: SwitchKind) -> list[_Load]:
    """Return the load of each job, or of the pool."""
    length = {pair: fmean(map(len, paths)) for pair, paths in ready.plan.routes.items() if paths}
    responses = 1 + 1 / ready.transport.ack_every
    loads = []
    for job in ready.jobs:
        frames, passes = 0, 0.0
        for transfer in job.sliced.schedule.transfers:
            count = -(-transfer.length // job.sliced.slice_elements)
            frames += count
            passes += count * length[job.members[transfer.source], job.members[transfer.target]]
        passes *= responses
        if job.trees is not None:
            # A frame up and down each link for each block.
            frames = 2 * len(job.members) * job.trees.work.blocks
            passes = sum(
                2 * len(blocks) * len(tree.parents)
                for tree, blocks in zip(job.trees.trees, job.trees.work.by_tree, strict=True)
            )
        rounds, sending_ps = 1, float(job.bound_ps)
        if job.rhythm is not None:
            rounds = job.rhythm.iterations
            sending_ps = rounds * largest_ps(job.bounds)
        each = _PASS_SECONDS[switch]
        loads.append(_Load(rounds * frames * _AGENT_SECONDS, rounds * passes * each, max(1.0, sending_ps)))
    if (pool := ready.pool) is not None:
        pairs = [(pool.names[a], pool.names[b]) for a in pool.borrowers for b in pool.lenders if a != b]
        frames = len(pool.borrowers) * pool.settings.operations * pool.settings.copies
        passes = 2 * frames * fmean(length[pair] for pair in pairs)
        loads.append(_Load(frames * _POOL_AGENT_SECONDS, passes * _PASS_SECONDS[switch], pool.bound_ps))
    return loads
