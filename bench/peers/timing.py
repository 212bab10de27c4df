# SPDX-License-Identifier: Apache-2.0
"""Times of a planned run on the embedded testbed, and of any other work."""

from __future__ import annotations

import time
from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage

from harness.run.boot import booted
from harness.run.jobs.running import Jobs
from harness.run.prepare import Prepared
from harness.run.testbeds import Embedded

__all__ = ["Times", "engine_times", "timed"]

SEED = 1

# Seconds of wall clock, and of processor time.
Times = tuple[float, float]


def timed(work: Callable[[], None], who: int) -> Times:
    """Return the times of `work`; `who`: RUSAGE_SELF, or RUSAGE_CHILDREN for processes that it starts."""

    def used() -> float:
        usage = getrusage(who)
        return usage.ru_utime + usage.ru_stime

    began, before = time.perf_counter(), used()
    work()
    return time.perf_counter() - began, used() - before


def engine_times(ready: Prepared, threads: int = 1) -> Times:
    """Return the times of data, agents and run; RuntimeError unless all flows have ended."""
    testbed = Embedded(threads=threads).make(ready, max(1, ready.bound_ps // 48), SEED)

    def run() -> None:
        Jobs(ready, testbed, SEED).begin()
        testbed.run()

    with booted(testbed, ready.plan):
        times = timed(run, RUSAGE_SELF)
        if testbed.busy:
            raise RuntimeError("flows of the engine have not ended")
    return times
