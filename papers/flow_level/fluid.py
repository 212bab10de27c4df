# SPDX-License-Identifier: Apache-2.0
"""Progress of jobs by mean throughput, constant until a job arrives or leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.jobs.job import iteration_seconds
from papers.flow_level.networks.clos import Fabric, Loads
from papers.flow_level.pace import ROUNDING, Counted, Order
from papers.flow_level.rates import Floats, Ints
from papers.flow_level.workload.jobs import Job

__all__ = ["Fluid"]

# Number of moments, and of slices of an iteration.
_MOMENTS = 16

# Rounds of the iteration between the durations of phases and their rates.
_ROUNDS = 3


@final
@dataclass(slots=True)
class _Sending:
    """A job that sends.

    Attributes:
        amounts: seconds that each phase takes alone.
        duty: share of an iteration that each phase takes at the current rates.
        order: slice of the iteration that the job is in at each moment.
        loads: loads of each phase, by link.
        peak: links of the job, and the largest load of any phase on each.
        level: class that links serve the job in.
        in_step: whether the job's slices follow the circle of time of a group.
        spent: seconds since the job's start.
        sent: seconds since the job's start during which the job sent.
    """

    job: Job
    amounts: Floats
    duty: Floats
    order: Ints
    loads: tuple[Loads, ...]
    peak: Loads
    level: int = 0
    in_step: bool = False
    spent: float = 0.0
    sent: float = 0.0


@final
class Fluid:
    """Progress of jobs at mean rates, averaged over sampled moments.

    At each moment every job is in one slice of its iteration, in a phase or idle. The moments of a job visit
    all slices of its iteration, in a random order of the job's own, so jobs are not synchronised.

    A phase sends as fast as its busiest link allows. All flows of a class have equal rates on a link, even if
    some of them are limited elsewhere; they share the capacity that earlier classes leave.

    Phase durations and rates depend on each other; iterate `_ROUNDS` times from the previous solution.

    Args:
        fabric: fabric that has the routes of the jobs.
        seed: seed of the orders of slices.
    """

    def __init__(self, fabric: Fabric, seed: int = 0) -> None:
        self._fabric = fabric
        self._version = fabric.version
        self._seed = seed
        self._jobs: dict[int, Job] = {}
        self._left: dict[int, float] = {}
        self._rate: dict[int, float] = {}
        self._sending: dict[int, _Sending] = {}
        self._stale = False

    def add(self, key: int, job: Job) -> None:
        self._jobs[key] = job
        self._left[key] = float(job.iterations)
        self._rate[key] = job.iterations / job.alone if job.alone else np.inf
        if job.phases:
            amounts = np.array([phase.amount for phase in job.phases])
            order = np.random.default_rng((self._seed, key)).permutation(_MOMENTS)
            duty = amounts * job.iterations / max(job.alone, 1e-300)
            self._sending[key] = _Sending(job, amounts, duty, order, *self._loads(key), job.priority)
            self._stale = True

    def remove(self, key: int) -> None:
        del self._jobs[key], self._left[key], self._rate[key]
        self._stale |= self._sending.pop(key, None) is not None

    def changed(self) -> None:
        if self._version != self._fabric.version:
            self._version = self._fabric.version
            for key, item in self._sending.items():
                item.loads, item.peak = self._loads(key)
        self._stale = True

    def next_in(self) -> float:
        if self._stale:
            self._solve()
            self._stale = False
        going = zip(self._left.values(), self._rate.values(), strict=True)
        return min((left / rate for left, rate in going if rate), default=np.inf)

    def advance(self, seconds: float) -> list[int]:
        done = []
        if seconds:
            for item in self._sending.values():
                item.spent += seconds
                item.sent += float(item.duty.sum()) * seconds
        for key, job in self._jobs.items():
            if seconds:
                self._left[key] -= self._rate[key] * seconds
            if self._left[key] <= ROUNDING * job.iterations or self._rate[key] == np.inf:
                done.append(key)
        return sorted(done)

    def order(self, key: int, order: Order) -> None:
        """Set a job's class, and the slice of its iteration at each moment.

        Jobs of a group share a random order of points on the group's circle of time. A job's turns and shift
        give its slice at each point. A job without a group takes a random order of its own.
        """
        item = self._sending.get(key)
        if item is None:
            return
        if order.group is None:
            moments = np.random.default_rng((self._seed, key)).permutation(_MOMENTS)
        else:
            # Duties count from the beginning of sending, which follows the first part of the computation.
            whole = item.amounts.sum() / item.duty.sum() if item.duty.any() else 1.0
            late = order.late + (1 - item.job.overlap) * item.job.compute / whole
            of_group = np.random.default_rng((self._seed, order.group)).permutation(_MOMENTS)
            moments = np.floor((of_group * order.turns - late * _MOMENTS) % _MOMENTS).astype(np.int64)
        if item.level != order.level or not np.array_equal(moments, item.order):
            item.level, item.order, item.in_step = order.level, moments, order.group is not None
            self._stale = True

    def counted(self, key: int) -> Counted:
        job = self._jobs[key]
        iterations = job.iterations - self._left[key]
        item = self._sending.get(key)
        spent, sent = (item.spent, item.sent) if item else (iterations * job.compute, 0.0)
        return Counted(spent, iterations, iterations * job.compute, sent)

    def _loads(self, key: int) -> tuple[tuple[Loads, ...], Loads]:
        loads = self._fabric.loads(key)
        used, where = np.unique(np.concatenate([links for links, _ in loads]), return_inverse=True)
        most = np.zeros(len(used))
        np.maximum.at(most, where, np.concatenate([weights for _, weights in loads]))
        return loads, (used, most)

    def _solve(self) -> None:
        capacity = self._fabric.capacities
        load = np.zeros(len(capacity))
        for entry in self._sending.values():
            load[entry.peak[0]] += entry.peak[1]
        # All other links can carry the peaks of all jobs, so they slow down no job.
        tight = load > capacity * (1 + ROUNDING)
        slowed: list[tuple[int, _Sending]] = []
        for key, entry in self._sending.items():
            if tight[entry.peak[0]].any():
                slowed.append((key, entry))
            else:
                self._set(key, entry, np.ones(len(entry.amounts)))
        if not slowed:
            return
        table = _Table([item for _, item in slowed], tight, capacity)
        for _ in range(_ROUNDS):
            rates = table.rates(table.active([item.duty for _, item in slowed]))
            for (key, entry), own in zip(slowed, np.split(rates, table.edges), strict=True):
                self._set(key, entry, own)

    def _set(self, key: int, item: _Sending, rates: Floats) -> None:
        stuck = rates <= 0
        if stuck.any():
            self._rate[key] = 0.0
            item.duty = stuck / stuck.sum()
            return
        sending = item.amounts / rates
        whole = iteration_seconds(item.job.compute, float(sending.sum()), item.job.overlap)
        self._rate[key] = 1 / whole
        item.duty = sending / whole


@final
class _Table:
    """Loads of phases on potential bottleneck links, as arrays; an entry for each phase and link."""

    def __init__(self, jobs: Sequence[_Sending], tight: np.ndarray, capacity: Floats) -> None:
        from scipy.sparse import csr_array

        numbers = np.array([len(job.amounts) for job in jobs])
        # Indices at which arrays by phase are split by job.
        self.edges = np.cumsum(numbers)[:-1]
        self._first = np.concatenate([[0], self.edges])
        self._job = np.repeat(np.arange(len(jobs)), numbers)
        self._orders = np.array([job.order for job in jobs])
        phases = [loads for job in jobs for loads in job.loads]
        rows = np.repeat(np.arange(len(phases)), [len(links) for links, _ in phases])
        links = np.concatenate([links for links, _ in phases])
        kept = tight[links]
        self._row, self._weight = rows[kept], np.concatenate([weights for _, weights in phases])[kept]
        used = np.flatnonzero(tight)
        self._link = np.searchsorted(used, links[kept])
        self._capacity = capacity[used]
        self._class = np.array([job.level for job in jobs])[self._job]
        self._in_step = np.array([job.in_step for job in jobs])[self._job]
        owner = self._job[self._row] * len(used) + self._link
        _, self._own = np.unique(owner, return_inverse=True)
        shape = (int(self._own.max()) + 1, len(phases))
        self._self = csr_array((self._weight, (self._own, self._row)), shape=shape)
        level = self._class[self._row]
        self._carried = {
            item: csr_array(
                (self._weight * (level == item), (self._link, self._row)), shape=(len(used), len(phases))
            )
            for item in np.unique(self._class).tolist()
        }

    def active(self, duty: Sequence[Floats]) -> Floats:
        """Return the share of each moment during which a job is in a phase, shape (phases, moments)."""
        share = np.concatenate(duty)
        end = np.cumsum(share)
        # Make the ends of phases relative to the beginning of the job's first phase.
        end -= np.repeat((end - share)[self._first], np.diff(self._first, append=len(share)))
        moments = self._orders.shape[1]
        order = self._orders[self._job]
        until = np.minimum(np.maximum(end[:, None] * moments - order, 0), 1)
        before = np.minimum(np.maximum((end - share)[:, None] * moments - order, 0), 1)
        return until - before

    def rates(self, active: Floats) -> Floats:
        """Return for each phase the mean over moments of the rate at which it would send."""
        own = self._self @ active
        left = np.repeat(self._capacity[:, None], active.shape[1], axis=1)
        rates = np.ones(len(self._class))
        last = max(self._carried)
        for level, carried in self._carried.items():
            load = carried @ active
            chosen = np.flatnonzero(self._class[self._row] == level)
            link, row = self._link[chosen], self._row[chosen]
            if not len(row):
                continue
            # Subtracting the job's own load may leave a little less than 0 because of rounding.
            others = np.maximum(load[link] - own[self._own[chosen]], 0)
            share = left[link] / (self._weight[chosen, None] + others)
            first = np.flatnonzero(np.diff(row, prepend=-1))
            got = np.minimum(np.minimum.reduceat(share, first, axis=0), 1.0)
            rates[row[first]] = self._mean(got, active[row[first]], row[first])
            if level != last:
                sent = np.zeros_like(active)
                sent[row[first]] = got * active[row[first]]
                left = np.maximum(left - carried @ sent, 0)
        return rates

    def _mean(self, got: Floats, active: Floats, row: Ints) -> Floats:
        """Return mean rates over all moments; for jobs in step, over the moments at which the phase sends."""
        mean = got.mean(axis=1)
        own = self._in_step[row] & (active.sum(axis=1) > 0)
        if own.any():
            mean[own] = (got[own] * active[own]).sum(axis=1) / active[own].sum(axis=1)
        return mean
