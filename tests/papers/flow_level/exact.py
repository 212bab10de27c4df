# SPDX-License-Identifier: Apache-2.0
"""Progress of jobs phase by phase, with which progress by mean throughput is compared.

Every flow of every iteration has its max-min fair rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from papers.flow_level.networks.clos import Fabric
from papers.flow_level.pace import ROUNDING, Counted, Order
from papers.flow_level.rates import Floats, Routes, max_min
from papers.flow_level.workload.jobs import Job
from tests.papers.flow_level.flows import joined

__all__ = ["Exact"]


@final
@dataclass(slots=True)
class _Running:
    """Progress of a job.

    Attributes:
        phases: routes of each phase's flows over links.
        free: number of each phase's flows without links.
        iterations: iterations left, the current one included.
        head: seconds of computation left until the job may send.
        tail: seconds of computation left in the iteration.
        phase: index of the current phase; -1 before the first.
        left: amount left to send by a flow, for each row of the phase, then for flows without links.
        rate: rate of a flow, with rows as in `left`.
        level: service class of the job on links.
        wait: seconds until the iteration begins.
        late: shift of the next iteration, as a share of an iteration alone; None for no change.
        spent: seconds since the job's start.
        sent: seconds since the job's start during which the job sent.
        counted: readings of the job's monitors at the end of the last whole iteration.
    """

    job: Job
    phases: tuple[Routes, ...]
    free: tuple[float, ...]
    iterations: int
    head: float = 0.0
    tail: float = 0.0
    phase: int = 0
    left: Floats = field(default_factory=lambda: np.zeros(0))
    rate: Floats = field(default_factory=lambda: np.zeros(0))
    level: int = 0
    wait: float = 0.0
    late: float | None = None
    spent: float = 0.0
    sent: float = 0.0
    counted: Counted = field(default_factory=Counted)


@final
class Exact:
    """Progress of jobs phase by phase; rates are computed anew whenever the set of active flows changes.

    Flows between NPUs of one leaf have the rate 1. When a flow ends, other flows get its share at once.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._version = fabric.version
        self._running: dict[int, _Running] = {}
        # Jobs that ended when they were added, since they have no work.
        self._ended: list[int] = []
        self._stale = False
        self._now = 0.0

    def add(self, key: int, job: Job) -> None:
        item = _Running(job, (), (), job.iterations, level=job.priority)
        self._running[key] = item
        self._routes(key, item)
        self._begin(item)
        if self._turn(item):
            self._ended.append(key)
        self._stale = True

    def remove(self, key: int) -> None:
        del self._running[key]
        self._ended = [other for other in self._ended if other != key]
        self._stale = True

    def changed(self) -> None:
        """Update routes; all flows of a rerouted phase then have as much left as the phase's slowest flow."""
        self._stale = True
        if self._version == self._fabric.version:
            return
        self._version = self._fabric.version
        for key, item in self._running.items():
            before = item.left.max() if len(item.left) else None
            self._routes(key, item)
            if before is not None:
                item.left = np.full(len(item.phases[item.phase].counts) + 1, before)

    def next_in(self) -> float:
        if self._ended:
            return 0.0
        if self._stale:
            self._solve()
        return min((_step(item) for item in self._running.values()), default=np.inf)

    def advance(self, seconds: float) -> list[int]:
        if self._ended:
            return sorted(self._ended)
        done = []
        self._now += seconds
        for key, item in sorted(self._running.items()):
            step = _step(item)
            _pass(item, seconds)
            if step > seconds * (1 + ROUNDING):
                continue
            self._stale = True
            if self._turn(item):
                done.append(key)
        return done

    def order(self, key: int, order: Order) -> None:
        """Set a job's class; in a group, delay the next iteration to the job's shift on the circle."""
        item = self._running[key]
        if item.level != order.level:
            item.level = order.level
            self._stale = True
        item.late = order.late if order.group is not None else None

    def counted(self, key: int) -> Counted:
        return self._running[key].counted

    def _routes(self, key: int, item: _Running) -> None:
        item.phases = self._fabric.routes(key)
        # Number of flows of each phase that use no link; together they have the last row of `left`.
        item.free = tuple(
            len(phase.pairs) - float(routes.counts.sum())
            for phase, routes in zip(item.job.phases, item.phases, strict=True)
        )

    def _begin(self, item: _Running) -> None:
        """Start the next iteration of a job."""
        item.head = (1 - item.job.overlap) * item.job.compute
        item.tail = item.job.compute
        item.phase = -1
        item.left = item.rate = np.zeros(0)
        item.wait = 0.0
        if item.late is not None:
            whole = item.job.alone / item.job.iterations
            item.wait = (item.late * whole - self._now) % whole
            item.late = None

    def _turn(self, item: _Running) -> bool:
        """Start the next phase or iteration if the current one is over; return whether the job has ended."""
        while True:
            if item.wait > 0 or item.head > 0 or item.left.any():
                return False
            if item.phase + 1 < len(item.job.phases):
                item.phase += 1
                amount = item.job.phases[item.phase].amount
                rows = len(item.phases[item.phase].counts) + 1
                item.left = np.full(rows, amount)
                item.left[-1] = amount if item.free[item.phase] else 0.0
                continue
            if item.tail > 0:
                return False
            item.iterations -= 1
            ended = item.job.iterations - item.iterations
            item.counted = Counted(item.spent, float(ended), ended * item.job.compute, item.sent)
            if not item.iterations:
                return True
            self._begin(item)

    def _solve(self) -> None:
        """Compute the rates of all flows with data left to send."""
        sending = [item for item in self._running.values() if item.left.any()]
        parts, classes = [], []
        for entry in sending:
            part = entry.phases[entry.phase]
            parts.append(part)
            classes.append(np.full(len(part.counts), entry.level))
        whole = joined(parts)
        going = np.concatenate([item.left[:-1] > 0 for item in sending]) if sending else np.zeros(0, bool)
        flows = replace(whole, counts=whole.counts * going)
        rates = max_min(flows, self._fabric.capacities, np.concatenate(classes) if classes else None, 1.0)
        at = 0
        for entry in sending:
            rows = len(entry.left) - 1
            entry.rate = np.append(rates[at : at + rows], 1.0)
            at += rows
        self._stale = False


def _step(item: _Running) -> float:
    """Return the seconds until the wait, the computation or a flow of a job ends."""
    result = np.inf
    if item.wait > 0:
        return item.wait
    if item.head > 0:
        result = item.head
    elif len(item.left):
        going = item.left > 0
        if going.any():
            with np.errstate(divide="ignore"):
                result = float((item.left[going] / item.rate[going]).min())
    if item.tail > 0:
        result = min(result, item.tail)
    return result


def _pass(item: _Running, seconds: float) -> None:
    """Advance a job by `seconds` in which it waits, or computes and sends."""
    item.spent += seconds
    if item.wait > 0:
        item.wait = _less(item.wait, seconds, item.wait)
        return
    if len(item.left):
        item.sent += seconds if item.left.any() else 0.0
        sent = item.rate * seconds if seconds else np.zeros_like(item.left)
        amount = item.job.phases[item.phase].amount
        item.left = np.where(item.left - sent <= ROUNDING * amount, 0.0, item.left - sent)
    elif item.head > 0:
        item.head = _less(item.head, seconds, item.job.compute)
    if item.tail > 0:
        item.tail = _less(item.tail, seconds, item.job.compute)


def _less(left: float, seconds: float, whole: float) -> float:
    return left - seconds if left - seconds > ROUNDING * whole else 0.0
