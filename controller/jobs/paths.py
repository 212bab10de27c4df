# SPDX-License-Identifier: Apache-2.0
"""Path selection: choose a candidate path for each flow of each job.

Published (Crux, section 4.1): jobs choose one after another, the most GPU-intensive job first. Each job takes
the least congested path, given the paths of earlier jobs.

The measure of congestion is ours. Each earlier job adds to a link the share of its iteration for which it
keeps the link busy without other jobs. Flows of the choosing job send at the same time, so they add their
share of the job's sending time, not of its whole iteration.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from controller.errors import PlanError
from controller.jobs.job import Floats, Ints, Job, iteration_seconds, link_loads

__all__ = ["busy_shares", "hash_paths", "largest_flow_seconds", "least_congested", "mean_hops"]

# Most passes in which the flows of a job choose paths. A further pass follows if flows slow each other down.
_PASSES = 3


def hash_paths(job: Job, seed: int = 0) -> Ints:
    """Return a random candidate path for each flow, as if by ECMP; job name and seed determine the result."""
    rng = np.random.default_rng((seed, zlib.crc32(job.name.encode())))
    among = job.candidates
    drawn = (rng.random(len(among)) * among.sum(axis=1)).astype(np.int64)
    # Number `drawn` counts only the candidates that exist; convert it to an index among all candidates.
    return np.argmax(np.cumsum(among, axis=1) > drawn[:, None], axis=1).astype(np.int64)


def least_congested(
    jobs: Sequence[Job], order: Iterable[int], rates: Floats, busy: Floats | None = None
) -> tuple[Ints, ...]:
    """Return a candidate path for each flow of each job, chosen by least congestion.

    A flow takes the candidate whose most congested link is least congested. Ties go to the candidate with the
    least sum over its links, then to the first candidate. If flows of a job slow each other down, the flows
    of the job choose again, given the job's other flows.

    Args:
        jobs: All jobs.
        order: Indices of all jobs, in the order in which they choose. Within a job, the largest flow chooses
            first.
        rates: Rate of each link, (links,).
        busy: Utilisation of each link by jobs that already have paths, (links,), as from `busy_shares`; None
            stands for no such jobs.

    Raises:
        PlanError: `order` lacks a job, or names one twice.
    """
    order = tuple(order)
    if sorted(order) != [*range(len(jobs))]:
        raise PlanError(
            f"jobs choose paths in the order {list(order)}; expected each of the {len(jobs)} jobs once",
            remedy=f"give a permutation of the numbers below {len(jobs)}",
        )
    # An extra last element, selected by index -1, stands for the missing hops of short paths.
    taken = np.append(np.zeros(len(rates)) if busy is None else busy, 0.0)
    per_second = 1 / np.append(rates, np.inf)
    choices: list[Ints] = [np.zeros(len(job.amounts), np.int64) for job in jobs]
    for number in order:
        job = jobs[number]
        if not len(job.amounts):
            continue
        most = largest_flow_seconds(job, rates)
        own = np.zeros(len(taken))
        kinds = _flow_groups(job)
        for again in range(_PASSES):
            crowded = float(own.max())
            if again and crowded <= 1 + 1e-9:
                break
            for flows, paths, apart in kinds:
                more = job.amounts[flows[0]] * per_second / most
                if again:
                    _remove_flows(paths[choices[number][flows]], own, more)
                choices[number][flows] = (_place_disjoint if apart else _place_one_by_one)(
                    paths, len(flows), taken, own, more
                )
        taken += own * most / _uncontended_seconds(job, most)
    return tuple(choices)


def busy_shares(jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats) -> Floats:
    """Return the utilisation of each link by all jobs, (links,).

    Each job adds the share of an iteration for which it sends on the link, as if its flows shared no links
    and no other job ran.
    """
    shares = np.zeros(len(rates))
    for job, choice in zip(jobs, choices, strict=True):
        if len(choice):
            shares += (
                link_loads(job, choice, len(rates))
                / rates
                / _uncontended_seconds(job, largest_flow_seconds(job, rates))
            )
    return shares


def largest_flow_seconds(job: Job, rates: Floats) -> float:
    """Return the seconds of the job's largest flow, at the highest link rate or its port's rate if lower.

    The result is 1 if all flows are empty.
    """
    return max(float((job.amounts / rates.max()).max()), job.port_seconds) or 1.0


def _uncontended_seconds(job: Job, most: float) -> float:
    """Return the seconds of an iteration whose flows share no links; the largest flow takes `most`."""
    return iteration_seconds(job.compute, most, job.overlap)


@lru_cache(maxsize=1024)
def _flow_groups(job: Job) -> list[tuple[Ints, Ints, bool]]:
    """Group flows with equal amounts and candidates; the group with the largest amount comes first.

    Returns the flows of each group, their candidates, and whether the candidates are link-disjoint.
    """
    kinds: dict[tuple[float, bytes], list[int]] = {}
    for flow, amount in enumerate(job.amounts.tolist()):
        kinds.setdefault((-amount, job.paths[flow].tobytes()), []).append(flow)
    groups = []
    for kind in sorted(kinds, key=lambda kind: (kind[0], kinds[kind][0])):
        paths = job.paths[kinds[kind][0]]
        paths = paths[(paths >= 0).any(axis=1)]
        used = paths[paths >= 0]
        groups.append((np.array(kinds[kind], np.int64), paths, len(np.unique(used)) == len(used)))
    return groups


def _remove_flows(paths: Ints, own: Floats, more: Floats) -> None:
    """Subtract the load of one flow for each of `paths` from `own`; `more` is a flow's load by link."""
    np.subtract.at(own, paths, more[paths])
    own[-1] = 0.0


def _place_disjoint(paths: Ints, number: int, taken: Floats, own: Floats, more: Floats) -> Ints:
    """Return the least congested candidates for equal flows, and add the flows' load to `own`.

    The candidates, `paths`, are link-disjoint. `taken[link]` is the load of earlier jobs; a flow adds
    `more[link]` to each link of its path.
    """
    adds = more[paths]
    # Congestion of each candidate's hops if n equal flows already use the candidate, (candidates, n, hops).
    there = (taken + own)[paths][:, None] + np.arange(number)[:, None] * adds[:, None]
    worst = there.max(axis=2).round(12).ravel()
    chosen_paths = np.lexsort((there.sum(axis=2).ravel(), worst))[:number] // number
    own[paths] += np.bincount(chosen_paths, minlength=len(paths))[:, None] * adds
    own[-1] = 0.0
    return chosen_paths


def _place_one_by_one(paths: Ints, number: int, taken: Floats, own: Floats, more: Floats) -> list[int]:
    """Return candidates as `_place_disjoint` does, if candidates may share links."""
    chosen_paths: list[int] = []
    for _ in range(number):
        congestion = (taken + own)[paths]
        worst = congestion.max(axis=1)
        best = np.flatnonzero(worst <= worst.min() + 1e-12)
        index = int(best[np.argmin(congestion[best].sum(axis=1))])
        chosen_paths.append(index)
        path = paths[index]
        own[path] += more[path]
        own[-1] = 0.0
    return chosen_paths


def mean_hops(job: Job, choice: Ints) -> float:
    """Return the mean number of links on the paths of a job, weighted by traffic."""
    hops = (job.paths[np.arange(len(choice)), choice] >= 0).sum(axis=1)
    whole = job.amounts.sum()
    return float(job.amounts @ hops / whole) if whole else 0.0
