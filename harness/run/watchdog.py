# SPDX-License-Identifier: Apache-2.0
"""Watchdog that ends a run without progress, in which failures have separated nodes.

In such a run only hellos and LACPDUs cross links. Agents give a connection up after timeouts that double,
which takes thousands of LACP periods; the watchdog saves the simulation of these periods.
"""

from __future__ import annotations

from typing import final

from controller.recovery.unreachable import describe_unreachable
from emulation.control.loop import ControlLoop
from emulation.faults import Fault
from harness.run.jobs.running import Jobs
from harness.run.memory_pool.running import PoolRun
from harness.run.prepare import Prepared

__all__ = ["Watchdog", "cut_off"]

# A run makes no progress if no data arrives for _PERIODS periods of hellos or LACPDUs and for _TIMEOUTS
# initial retransmission timeouts.
_PERIODS = 10
_TIMEOUTS = 8


def cut_off(ready: Prepared, control: ControlLoop, jobs: Jobs | PoolRun) -> str:
    """Return a text about the members of unfinished jobs that controllers know to be unreachable, or ''."""
    if isinstance(jobs, PoolRun):
        return ""  # borrowers of a memory pool give unreachable lenders up by themselves
    pairs = [
        (holders[source], holders[target])
        for job in jobs.all
        if not job.done
        for holders in [dict(zip(job.plan.members, job.holders, strict=True))]
        for source, target in job.plan.demand
    ]
    return describe_unreachable(control.plan, control.down, pairs)


@final
class Watchdog:
    """Detects a run without progress: no data arrives, and controllers know of unreachable members.

    With `moves`, spares or other circuits may restore connectivity, so the watchdog never ends the run.
    """

    def __init__(self, ready: Prepared, control: ControlLoop, jobs: Jobs | PoolRun, *, moves: bool) -> None:
        self._ready = ready
        self._control = control
        self._jobs = jobs
        period_ps = control.period_ps
        self._looks = period_ps is not None and not moves
        computes_ps = max((job.rhythm.compute_ps for job in ready.jobs if job.rhythm), default=0)
        self._timeout_ps = max(
            _PERIODS * (period_ps or 0), _TIMEOUTS * ready.transport.initial_rto_ps, 2 * computes_ps
        )
        starts_ps = [job.begin_ps for job in ready.jobs]
        self._last_change_ps = max([0, *starts_ps, *(fault.end_ps for fault in ready.faults)])
        self._delivered = -1
        self._since_ps = 0
        self._asked: frozenset[str] = frozenset()

    def expect(self, fault: Fault) -> None:
        """Note a fault injected by hand; the watchdog then acts as if the scenario contained it."""
        self._last_change_ps = max(self._last_change_ps, fault.end_ps)
        self._asked = frozenset()

    def look(self, now_ps: int, delivered: int) -> str:
        """Return the reason why the run makes no progress, or '' if it may go on.

        `delivered` is the number of bytes of data that have arrived so far.
        """
        if delivered != self._delivered:
            self._delivered, self._since_ps = delivered, now_ps
            return ""
        waits_from_ps = max(self._since_ps, self._last_change_ps)
        if not self._looks or now_ps - waits_from_ps < self._timeout_ps:
            return ""
        down = self._control.down
        if down == self._asked:
            return ""
        self._asked = down
        who = cut_off(self._ready, self._control, self._jobs)
        if not who:
            return ""
        since_us = self._since_ps / 10**6
        return f"{who}; since {since_us:.0f} us no data has arrived, only hellos and LACPDUs"
