# SPDX-License-Identifier: Apache-2.0
"""Mininet, in real time, as the testbed of a run, and its dilation: real seconds per scenario second."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import final

from controller.plan.plan import Plan
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
from topologies import Fabric

__all__ = ["RealTime", "suggest_dilation"]

# Ratio of real time to the required processor time. It keeps frames waiting for the rate of a link instead of
# for a processor.
_HEADROOM = 3.0

# Shortest run whose times can be judged; equals emulation.fidelity.MIN_SECONDS.
_LEAST_SECONDS = 1.5

# Processor seconds, measured in a rack on a machine of two cores (docs/testbeds/performance.md). Agents: per
# data frame with its share of an acknowledgement; agents of a memory pool are slower, being in Python.
# Switches: per frame and pass, with the kernel's part of the hop.
_AGENT_SECONDS = 40e-6
_POOL_AGENT_SECONDS = 130e-6
_PASS_SECONDS = {"builtin": 20e-6, "bmv2": 240e-6}

# Bytes of a frame beside its payload: headers, and the source route, which the first switch adds.
_ROOM_BYTES = DATA_HEADER_BYTES + 8


@final
@dataclass(frozen=True, slots=True)
class RealTime:
    """Choice of the Mininet testbed, in real time, for the runs of a scenario.

    Attributes:
        switch: Kind of software switches.
        dilation: Real seconds per scenario second; None estimates them from the processors of the machine.
        machines: Machines among which the fabric is divided; None for this machine alone.
        machines_file: File that describes the machines.
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

    def check_machine(self, *, captures: bool) -> None:
        """Raise a TestbedError if this machine lacks privileges, packages or features of the kernel."""
        if self.machines is not None:
            # Each machine checks its own features when its part of the fabric starts.
            need_root("a run over several machines")
        else:
            need_machine(captures=captures)

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Raise a TestbedError if a variant needs virtual time, or this machine lacks a requirement.

        Requirements are privileges, packages and features of the kernel.
        """
        proven = next((ready.variant for ready in prepared if ready.variant.expect == "deadlock"), None)
        if proven is not None:
            raise TestbedError(
                f"variant {proven.name} expects a deadlock: in real time a frame that finds a full queue is "
                "lost, so no frames wait for each other",
                remedy="leave out `expect: deadlock`, or give --testbed embedded",
            )
        lossy = next((ready.variant for ready in prepared if ready.variant.link.lossy), None)
        if lossy is not None:
            raise TestbedError(
                f"variant {lossy.name} has `queues:`, which the testbed in real time does not support",
                remedy="leave out `queues:`, or give --testbed embedded; `ecn_frames:` may stay",
            )
        wide = next(
            (ready.variant for ready in prepared if ready.variant.link.network_header != "cna16"), None
        )
        if wide is not None:
            raise TestbedError(
                f"variant {wide.name} has `network_header: {wide.link.network_header}`, and agents in real "
                "time support cna16 only",
                remedy="leave out `network_header:`, or give --testbed embedded",
            )
        if self.machines is not None:
            self.check_machine(captures=captures)
            for ready in prepared:
                cut(ready.fabric, self.machines.machines)
            return
        delays = any(map(_has_delays, prepared))
        need_machine(delays=delays, captures=captures, lanes=any(map(_has_priorities, prepared)))

    def make(
        self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False
    ) -> MininetTestbed | MachinesTestbed:
        """Return a Mininet testbed for a variant, slowed down by the dilation."""
        mtu = max(1500, _largest_payload(ready) + _ROOM_BYTES)
        buffer_bytes = ready.variant.link.credit_bytes
        # Switches mark frames by the depth of their own queues, so frames must wait there: the testbed then
        # limits each port to its rate in frames of this size.
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
    """Return whether a fault of the variant adds delay to a link."""
    return any(fault.event == "delay" for fault in ready.faults)


def _has_priorities(ready: Prepared) -> bool:
    """Return whether jobs may have a priority other than the lowest, by the scenario or a scheduler."""
    return ready.variant.control.scheduler != "none" or any(job.level for job in ready.jobs)


def _largest_payload(ready: Prepared) -> int:
    """Return the largest payload in bytes of a frame of jobs, a pool or trees."""
    pool = 0 if ready.pool is None else HEADER_BYTES + ready.pool.settings.size
    pool = max(pool, FRAME_BYTES) if ready.reduces else pool
    return max([pool, *(job.collective.payload_bytes for job in ready.jobs)])


@final
@dataclass(frozen=True, slots=True)
class _Load:
    """Processor seconds that agents and switches spend on a job, which sends for at least `sending_ps`."""

    agents: float
    switches: float
    sending_ps: float


def suggest_dilation(ready: Prepared, switch: SwitchKind, processors: int) -> int:
    """Return a dilation for a run: real seconds per scenario second, rounded to two significant digits.

    The estimate takes the processor time for all frames. It assumes that all jobs send at the same time, each
    at its best rate, and that processors are idle while jobs compute.
    """
    loads = _loads(ready, switch)
    agents, switches = (
        sum(getattr(load, part) / load.sending_ps for load in loads) for part in ("agents", "switches")
    )
    # A process of the built-in switch uses one processor only, so the switches alone may be the bottleneck.
    alone = switches / max(1, processors // 2) if switch == "builtin" else 0.0
    longest_ps = max(ready.bound_ps, *(load.sending_ps for load in loads))
    seconds = max(_LEAST_SECONDS / longest_ps, _HEADROOM * max((agents + switches) / processors, alone))
    return max(1, round(float(f"{seconds * 10**12:.1e}")))


def _busiest_ps(fabric: Fabric, plan: Plan, demand: Mapping[tuple[str, str], int]) -> float:
    """Return the time in ps for which a demand in bytes keeps the busiest planned link sending."""
    carried: defaultdict[tuple[str, str], float] = defaultdict(float)
    for pair, volume in demand.items():
        paths = plan.routes.get(pair, ())
        for path in paths:
            for hop in pairwise(path):
                carried[hop] += volume / len(paths)
    return max(
        (
            8e12 * volume / sum(link.rate_bps for link in fabric.links_between(*hop))
            for hop, volume in carried.items()
        ),
        default=0.0,
    )


def _loads(ready: Prepared, switch: SwitchKind) -> list[_Load]:
    """Return the processor load of each job, and of the memory pool."""
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
            # Each block sends a frame up and a frame down each link of its tree.
            frames = 2 * len(job.members) * job.trees.work.blocks
            passes = sum(
                2 * len(blocks) * len(tree.parents)
                for tree, blocks in zip(job.trees.trees, job.trees.work.by_tree, strict=True)
            )
        rounds, sending_ps = 1, float(job.bound_ps)
        if job.rhythm is not None:
            rounds = job.rhythm.iterations
            sending_ps = rounds * largest_ps(job.bounds)
        # The bound takes all links of a member, of which the planned paths may use a few.
        sending_ps = max(sending_ps, rounds * _busiest_ps(ready.fabric, ready.plan, job.demand))
        each = _PASS_SECONDS[switch]
        loads.append(_Load(rounds * frames * _AGENT_SECONDS, rounds * passes * each, max(1.0, sending_ps)))
    if (pool := ready.pool) is not None:
        pairs = [(pool.names[a], pool.names[b]) for a in pool.borrowers for b in pool.lenders if a != b]
        frames = len(pool.borrowers) * pool.settings.operations * pool.settings.copies
        passes = 2 * frames * fmean(length[pair] for pair in pairs)
        loads.append(_Load(frames * _POOL_AGENT_SECONDS, passes * _PASS_SECONDS[switch], pool.bound_ps))
    return loads
