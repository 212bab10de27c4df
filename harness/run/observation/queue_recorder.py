# SPDX-License-Identifier: Apache-2.0
"""Sample the queues of all ports and the data of all flows during a run in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, final

import numpy as np
from numpy.typing import NDArray

from emulation._engine import Participant
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.testbed import Testbed, Watch
from harness.run.jobs.running import Jobs
from harness.run.memory_pool.running import PoolRun
from harness.run.observation.queue_log import FlowSeries, QueueLog, QueueSeries
from harness.run.prepare import Prepared

__all__ = ["MAX_FLOWS", "MAX_QUEUES", "QueueRecorder", "recorder_for"]

MAX_QUEUES = 7
"""Largest number of queues that a log keeps; the deepest queues are kept."""

MAX_FLOWS = 7
"""Largest number of flows that a log keeps; the flows with the most bytes are kept."""

_SAMPLES, _SAMPLES_OF_BOUND, _LEAST_PS = 400, 100, 10_000

_Number = TypeVar("_Number", np.int64, np.uint8)


def recorder_for(ready: Prepared, testbed: Testbed, jobs: Jobs | PoolRun) -> QueueRecorder | None:
    """Add a recorder of queues to the testbed's watches, and return it; None for a variant without queues."""
    if not ready.variant.link.lossy or not isinstance(testbed, EmbeddedTestbed) or isinstance(jobs, PoolRun):
        return None
    recorder = QueueRecorder(testbed, jobs, max(ready.bound_ps // _SAMPLES_OF_BOUND, _LEAST_PS))
    testbed.watch = recorder if testbed.watch is None else _Watches([testbed.watch, recorder])
    return recorder


@final
class _Watches:
    """Several watches of a testbed as one; each ticks at its own times."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = tuple(watches)

    @property
    def next_ps(self) -> int:
        """Time of the next tick of any watch."""
        return min(watch.next_ps for watch in self._watches)

    def tick(self) -> None:
        """Call `tick` of each watch due at the earliest time."""
        due = self.next_ps
        for watch in self._watches:
            if watch.next_ps == due:
                watch.tick()


@final
class QueueRecorder:
    """A watch that samples every queue and flow of a testbed; see emulation.testbed.Watch.

    Samples are `width_ps` apart at first. Above 400 samples, each pair of samples is merged into a sample
    with the larger depths, and the distance between samples doubles.
    """

    def __init__(self, testbed: EmbeddedTestbed, jobs: Jobs, width_ps: int) -> None:
        self._testbed = testbed
        self._jobs = jobs
        self._width_ps = max(1, width_ps)
        self.next_ps = self._width_ps
        self._times: list[int] = []
        self._depths: list[NDArray[np.int64]] = []
        self._paused: list[NDArray[np.uint8]] = []
        self._delivered: list[dict[tuple[str, str], int]] = []

    def tick(self) -> None:
        """Take a sample."""
        depths, paused = self._testbed.queue_depths()
        self._times.append(self._testbed.now_ps)
        self._depths.append(depths)
        self._paused.append(paused)
        self._delivered.append(self._deliveries())
        if len(self._times) > _SAMPLES:
            self._halve()
        self.next_ps = self._testbed.now_ps + self._width_ps

    def log(self) -> QueueLog:
        """Return the samples so far."""
        if not self._times:
            return QueueLog((), (), ())
        depths, paused = _table(self._depths), _table(self._paused)
        deepest = depths.max(axis=0)
        used = np.flatnonzero((deepest > 0) | paused.any(axis=0))
        order = used[np.argsort(-deepest[used], kind="stable")]
        ports = self._testbed.queue_ports
        deepest_first: list[int] = order[:MAX_QUEUES].tolist()
        queues = tuple(
            QueueSeries(*ports[at], tuple(depths[:, at].tolist()), tuple(paused[:, at].astype(bool).tolist()))
            for at in deepest_first
        )
        totals = {pair: total for pair, total in self._delivered[-1].items() if total}
        largest = sorted(totals, key=lambda pair: -totals[pair])[:MAX_FLOWS]
        return QueueLog(tuple(self._times), queues, tuple(map(self._flow, largest)))

    def _flow(self, pair: tuple[str, str]) -> FlowSeries:
        return FlowSeries(*pair, tuple(delivered.get(pair, 0) for delivered in self._delivered))

    def _deliveries(self) -> dict[tuple[str, str], int]:
        """Return the bytes that each destination has acknowledged, by source and destination."""
        result: dict[tuple[str, str], int] = {}
        for job in self._jobs.all:
            for node in job.holders if job.begun_ps is not None else ():
                agent = self._testbed.agents.of(node)
                if isinstance(agent, Participant):
                    for rank, count in agent.delivered():
                        pair = node, job.holders[rank]
                        result[pair] = result.get(pair, 0) + count
        return result

    def _halve(self) -> None:
        """Merge samples in pairs, from the newest sample back; each pair keeps its later time."""
        self._width_ps *= 2
        pairs = range(len(self._times) - 1, 0, -2)
        self._depths = [_joined(self._depths, at) for at in pairs][::-1]
        self._paused = [_joined(self._paused, at) for at in pairs][::-1]
        self._times = [self._times[at] for at in pairs][::-1]
        self._delivered = [self._delivered[at] for at in pairs][::-1]


def _table(rows: Sequence[NDArray[_Number]]) -> NDArray[_Number]:
    """Return the samples as rows of one array; a queue that exists from a later sample on is 0 before it."""
    result = np.zeros((len(rows), max(map(len, rows))), rows[0].dtype)
    for number, row in enumerate(rows):
        result[number, : len(row)] = row
    return result


def _joined(rows: Sequence[NDArray[_Number]], at: int) -> NDArray[_Number]:
    """Return, value by value, the larger of sample `at` and the sample before it."""
    before, row = rows[at - 1], rows[at].copy()
    np.maximum(row[: len(before)], before, out=row[: len(before)])
    return row
