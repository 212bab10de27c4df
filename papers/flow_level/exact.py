# SPDX-License-Identifier: Apache-2.0
"""Jobs phase by phase: every flow of every iteration, at max-min fair rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from papers.flow_level.fabrics import Fabric
from papers.flow_level.jobs import Job
from papers.flow_level.pace import ROUNDING, Counted, Order
from papers.flow_level.rates import Floats, Routes, joined, max_min

__all__ = ["Exact"]


@final
@dataclass(slots=True)
class _Running:
    """Progress of a job: seconds until it may send, seconds of arithmetic left, its phase and the rest of it.

    `wait`: seconds until its next iteration begins at all; `late` of an iteration is asked of it. `spent` and
    `sent` are seconds since its start, `counted` the same up to the last whole iteration.
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
    """Every phase of every iteration; rates are max-min fair whenever the set of flows is another.

    Flows that stay below a leaf have the rate 1. A flow that is done leaves its share to others at once.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._version = fabric.version
        self._running: dict[int, _Running] = {}
        # Who has nothing to do at all.
        self._ended: list[int] = []
        self._stale = False
        self._now = 0.0

    def add(self, key: int, job: Job) -> None:
        one = _Running(job, (), (), job.iterations, level=job.priority)
        self._running[key] = one
        self._routes(key, one)
        self._begin(one)
        if self._turn(one):
            self._ended.append(key)
        self._stale = True

    def remove(self, key: int) -> None:
        del self._running[key]
        self._ended = [other for other in self._ended if other != key]
        self._stale = True

    def changed(self) -> None:
        """Restart flows whose routes changed, each with as much to send as the fullest flow of its phase."""
        self._stale = True
        if self._version == self._fabric.version:
            return
        self._version = self._fabric.version
        for key, one in self._running.items():
            before = one.left.max() if len(one.left) else None
            self._routes(key, one)
            if before is not None:
                one.left = np.full(len(one.phases[one.phase]) + 1, before)

    def next_in(self) -> float:
        if self._ended:
            return 0.0
        if self._stale:
            self._solve()
        return min((_step(one) for one in self._running.values()), default=np.inf)

    def advance(self, seconds: float) -> list[int]:
        if self._ended:
            return sorted(self._ended)
        done = []
        self._now += seconds
        for key, one in sorted(self._running.items()):
            step = _step(one)
            _pass(one, seconds)
            if step > seconds * (1 + ROUNDING):
                continue
            self._stale = True
            if self._turn(one):
                done.append(key)
        return done

    def order(self, key: int, order: Order) -> None:
        """Set a job's class; a late job starts its next iteration late, by a share of an iteration alone."""
        one = self._running[key]
        if one.level != order.level:
            one.level = order.level
            self._stale = True
        one.late = order.late if order.group is not None else None

    def counted(self, key: int) -> Counted:
        return self._running[key].counted

    def _routes(self, key: int, one: _Running) -> None:
        one.phases = self._fabric.routes(key)
        # The last row of what is left stands for flows that meet nobody.
        one.free = tuple(
            len(phase.pairs) - float(routes.counts.sum())
            for phase, routes in zip(one.job.phases, one.phases, strict=True)
        )

    def _begin(self, one: _Running) -> None:
        """Start an iteration."""
        one.head = (1 - one.job.overlap) * one.job.compute
        one.tail = one.job.compute
        one.phase = -1
        one.left = one.rate = np.zeros(0)
        one.wait = 0.0
        if one.late is not None:
            whole = one.job.alone / one.job.iterations
            one.wait = (one.late * whole - self._now) % whole
            one.late = None

    def _turn(self, one: _Running) -> bool:
        """To the next phase or iteration, if this one is over; whether the job has ended."""
        while True:
            if one.wait > 0 or one.head > 0 or one.left.any():
                return False
            if one.phase + 1 < len(one.job.phases):
                one.phase += 1
                amount = one.job.phases[one.phase].amount
                rows = len(one.phases[one.phase]) + 1
                one.left = np.full(rows, amount)
                one.left[-1] = amount if one.free[one.phase] else 0.0
                continue
            if one.tail > 0:
                return False
            one.iterations -= 1
            ended = one.job.iterations - one.iterations
            one.counted = Counted(one.spent, float(ended), ended * one.job.compute, one.sent)
            if not one.iterations:
                return True
            self._begin(one)

    def _solve(self) -> None:
        """Rates of all flows that are not done."""
        sending = [one for one in self._running.values() if one.left.any()]
        parts, classes = [], []
        for one in sending:
            part = one.phases[one.phase]
            parts.append(part)
            classes.append(np.full(len(part), one.level))
        whole = joined(parts)
        going = np.concatenate([one.left[:-1] > 0 for one in sending]) if sending else np.zeros(0, bool)
        counts = whole.counts * going
        flows = Routes(whole.starts, whole.links, whole.weights, counts)
        rates = max_min(flows, self._fabric.capacities, np.concatenate(classes) if classes else None, 1.0)
        at = 0
        for one in sending:
            rows = len(one.left) - 1
            one.rate = np.append(rates[at : at + rows], 1.0)
            at += rows
        self._stale = False


def _step(one: _Running) -> float:
    """Seconds until something of it ends."""
    found = np.inf
    if one.wait > 0:
        return one.wait
    if one.head > 0:
        found = one.head
    elif len(one.left):
        going = one.left > 0
        if going.any():
            with np.errstate(divide="ignore"):
                found = float((one.left[going] / one.rate[going]).min())
    if one.tail > 0:
        found = min(found, one.tail)
    return found


def _pass(one: _Running, seconds: float) -> None:
    one.spent += seconds
    if one.wait > 0:
        one.wait = _less(one.wait, seconds, one.wait)
        return
    if len(one.left):
        one.sent += seconds if one.left.any() else 0.0
        sent = one.rate * seconds if seconds else np.zeros_like(one.left)
        amount = one.job.phases[one.phase].amount
        one.left = np.where(one.left - sent <= ROUNDING * amount, 0.0, one.left - sent)
    elif one.head > 0:
        one.head = _less(one.head, seconds, one.job.compute)
    if one.tail > 0:
        one.tail = _less(one.tail, seconds, one.job.compute)


def _less(left: float, seconds: float, whole: float) -> float:
    return left - seconds if left - seconds > ROUNDING * whole else 0.0
