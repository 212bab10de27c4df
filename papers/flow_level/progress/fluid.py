# SPDX-License-Identifier: Apache-2.0
"""Jobs by their mean throughput, which is another only when a job comes or goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.jobs.job import iteration_seconds
from papers.flow_level.networks.clos import Fabric, Loads
from papers.flow_level.progress.pace import ROUNDING, Counted, Order
from papers.flow_level.rates import Floats, Ints
from papers.flow_level.workload.jobs import Job

__all__ = ["Fluid"]


@final
@dataclass(slots=True)
class _Sending:
    """A job that sends: seconds of each phase alone, its share of time now, links that it may fill.

    `peak` is what the job puts on its links in whichever phase puts most. `order` shuffles moments. `level`
    is the class it is served in; `spent` and `sent` are seconds since its start, all and those that it sends
    in.
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
    """Fluid rates: the mean over `moments`, at each of which every other job is in a phase or idle.

    How long a job is in which phase follows from the rates, and these from that: `rounds` times, from what
    was last. Jobs are in step with none: moments are evenly spread over a job's iteration, each job's in an
    order of its own. A phase sends as fast as the busiest of its links lets it; there all flows of a class
    have the same rate, whatever else holds them back. What classes before them use is gone.
    """

    def __init__(self, fabric: Fabric, seed: int = 0, moments: int = 16, rounds: int = 3) -> None:
        self._fabric = fabric
        self._version = fabric.version
        self._seed, self._moments, self._rounds = seed, moments, rounds
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
            order = np.random.default_rng((self._seed, key)).permutation(self._moments)
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
        """Jobs of a group meet at the same moments of a circle; of others every moment meets every other."""
        item = self._sending.get(key)
        if item is None:
            return
        if order.group is None:
            moments = np.random.default_rng((self._seed, key)).permutation(self._moments)
        else:
            # From the begin of sending on, which is where duties are counted from.
            whole = item.amounts.sum() / item.duty.sum() if item.duty.any() else 1.0
            late = order.late + (1 - item.job.overlap) * item.job.compute / whole
            of_group = np.random.default_rng((self._seed, order.group)).permutation(self._moments)
            moments = np.floor((of_group * order.turns - late * self._moments) % self._moments).astype(
                np.int64
            )
        if item.level != order.level or not np.array_equal(moments, item.order):
            item.level, item.order, item.in_step = order.level, moments, order.group is not None
            self._stale = True

    def counted(self, key: int) -> Counted:
        job = self._jobs[key]
        iterations = job.iterations - self._left[key]
        item = self._sending.get(key)
        spent, sent = (item.spent, item.sent) if item else (iterations * job.compute, 0.0)
        return Counted(spent, iterations, iterations * job.compute, sent)

    def throughput(self, key: int) -> float:
        """Return the current iterations a second."""
        self.next_in()
        return self._rate[key]

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
        # Elsewhere nobody is ever slowed down.
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
        for _ in range(self._rounds):
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
    """Phases of jobs on links where they may be slowed, as arrays; entries in order of phases."""

    def __init__(self, jobs: Sequence[_Sending], tight: np.ndarray, capacity: Floats) -> None:
        from scipy.sparse import csr_array

        numbers = np.array([len(job.amounts) for job in jobs])
        # Where to split phases by job.
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
        """Return by phase and moment the share of the moment in which the job is in that phase."""
        share = np.concatenate(duty)
        end = np.cumsum(share)
        # Within a job, from the begin of its first phase.
        end -= np.repeat((end - share)[self._first], np.diff(self._first, append=len(share)))
        moments = self._orders.shape[1]
        order = self._orders[self._job]
        until = np.minimum(np.maximum(end[:, None] * moments - order, 0), 1)
        before = np.minimum(np.maximum((end - share)[:, None] * moments - order, 0), 1)
        return until - before

    def rates(self, active: Floats) -> Floats:
        """Return by phase the mean over moments of its rate while it sends."""
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
            # Rounding may leave a little less than nothing of a load from which one's own is taken.
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
        """Over all moments; of jobs in step with others, over those at which they send themselves."""
        mean = got.mean(axis=1)
        own = self._in_step[row] & (active.sum(axis=1) > 0)
        if own.any():
            mean[own] = (got[own] * active[own]).sum(axis=1) / active[own].sum(axis=1)
        return mean
