# SPDX-License-Identifier: Apache-2.0
"""Which testbed runs a variant, and how: what `--testbed` and its companions say, made into the thing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Protocol, final

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import TestbedError
from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from lab.run.prepare import Prepared

if TYPE_CHECKING:
    from emulation.mininet.switches import SwitchKind
    from emulation.mininet.testbed import MininetTestbed

__all__ = ["Embedded", "RealTime", "TestbedChoice", "suggest_dilation"]

# Real time is to be this much longer than the processors alone would need: queues then stay short, and a
# frame waits for its link's rate, not for a processor.
_HEADROOM = 3.0

# A run has to be long enough to be judged, emulation.fidelity.MIN_SECONDS.
_LEAST_SECONDS = 1.5

# Processor seconds in a rack on a machine of two cores, as `python -m bench --only lab` measures them
# (docs/performance.md): an agent's part in one data frame, its sending, its arrival and its share of an
# acknowledgement; and one frame through a switch, the kernel's part in the hop included.
_AGENT_SECONDS = 130e-6
_PASS_SECONDS = {"builtin": 20e-6, "bmv2": 240e-6}

# What frames of any size need beside their payload: headers, and the source route that the first switch adds.
_ROOM_BYTES = DATA_HEADER_BYTES + 8


class TestbedChoice(Protocol):
    """Makes a testbed for a variant. `name` and `switch` stand in the result, `options` in the command that
    repeats it; `switch` is empty where there is no choice.
    """

    __test__ = False

    @property
    def name(self) -> str: ...
    @property
    def switch(self) -> str: ...
    @property
    def options(self) -> Sequence[str]: ...
    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """TestbedError when this machine cannot run them all; nothing has been started then."""
        ...

    def make(self, ready: Prepared, bin_ps: int, seed: int) -> EmbeddedTestbed | MininetTestbed: ...


@final
@dataclass(frozen=True, slots=True)
class Embedded:
    """Virtual time, in this process."""

    name: str = "embedded"
    switch: str = ""
    options: Sequence[str] = ()

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Any machine can."""

    def make(self, ready: Prepared, bin_ps: int, seed: int) -> EmbeddedTestbed:
        link = ready.variant.link
        return EmbeddedTestbed(
            ready.fabric, credit_bytes=link.credit_bytes, scheduler=link.scheduler, bin_ps=bin_ps, seed=seed
        )


@final
@dataclass(frozen=True, slots=True)
class RealTime:
    """Mininet. `dilation` None: as slow as this machine is likely to keep up with."""

    switch: SwitchKind
    dilation: int | None = None

    @property
    def name(self) -> str:
        return "mininet"

    @property
    def options(self) -> Sequence[str]:
        slower = () if self.dilation is None else ("--dilation", str(self.dilation))
        return ("--testbed", "mininet", "--switch", self.switch, *slower)

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """TestbedError names the right, package or part of the kernel that is missing."""
        from emulation.mininet.linux.machine import need_machine

        paced = next((job for ready in prepared for job in ready.jobs if job.rhythm or job.level), None)
        if paced is not None:
            raise TestbedError(
                f"job {paced.name} has iterations, computation or a priority: in real time a link's rate is "
                "kept by the kernel, which knows one class of frames",
                remedy="leave `iterations:`, `compute_us:` and `priority:` out, or take --testbed embedded",
            )
        delays = any(fault.event == "delay" for ready in prepared for fault in ready.faults)
        need_machine(delays=delays, captures=captures)
        if any(ready.variant.control.circuits != "static" for ready in prepared):
            raise TestbedError(
                "circuits that follow jobs: jobs would begin later, and in real time all begin at once",
                remedy="leave `control: circuits:` out, or take --testbed embedded",
            )
        later = next((job for ready in prepared for job in ready.jobs if job.begin_ps), None)
        if later is not None:
            raise TestbedError(
                f"job {later.name} begins at {later.begin_ps / 10**6:g} us: in real time all begin at once",
                remedy="leave `at_us:` out, or take --testbed embedded",
            )

    def make(self, ready: Prepared, bin_ps: int, seed: int) -> MininetTestbed:
        from emulation.mininet.testbed import MininetTestbed

        return MininetTestbed(
            ready.fabric,
            switch=self.switch,
            dilation=self.dilation or suggest_dilation(ready, self.switch, os.cpu_count() or 1),
            mtu=max(1500, max(job.collective.payload_bytes for job in ready.jobs) + _ROOM_BYTES),
            bin_ps=bin_ps,
        )


def suggest_dilation(ready: Prepared, switch: SwitchKind, processors: int) -> int:
    """Real seconds for one of the scenario, to two digits, from the frames of a run and what each costs."""
    length = {pair: fmean(map(len, paths)) for pair, paths in ready.plan.routes.items() if paths}
    frames, passes = 0, 0.0
    for job in ready.jobs:
        for transfer in job.sliced.schedule.transfers:
            some = -(-transfer.length // job.sliced.slice_elements)
            frames += some
            passes += some * length[job.members[transfer.source], job.members[transfer.target]]
    passes *= 1 + 1 / ready.transport.ack_every
    agents, switches = frames * _AGENT_SECONDS, passes * _PASS_SECONDS[switch]
    # A process of the built-in switch keeps to one processor.
    alone = switches / max(1, processors // 2) if switch == "builtin" else 0.0
    seconds = max(_LEAST_SECONDS, _HEADROOM * max((agents + switches) / processors, alone))
    return max(1, round(float(f"{seconds * 10**12 / ready.bound_ps:.1e}")))
