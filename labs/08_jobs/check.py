# SPDX-License-Identifier: Apache-2.0
"""Checks of lab 8: the student's levels for drawn jobs, by the model of links in turn and frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, final

import numpy as np

from controller.jobs.timeline import JobProfile, simulate
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, passed
from harness.report.measurement.job_metrics import computed_ps
from harness.run.observation.values import JobReport
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import read

ANSWER, FUNCTION = "scheduler.py", "levels"
SETS, JOBS, LINKS, LEVELS = 20, 4, 3, 3
# A set runs for so many iterations of its longest job.
ITERATIONS = 6
# Work against simple orders and against the best levels; sets with more work than by simple orders.
GAIN, OF_BEST, BETTER_SETS = 1.08, 0.90, 15
# Share of what a job computes alone, below which it starves.
STARVED = 0.15
# A set is drawn if simple orders do at most this share of the best work.
BEATABLE = 0.95

# Stage 4: jobs of four GPUs that share the uplinks of two leaves, on a fabric of packets.
FRAMES_US = 200.0
FRAMES_GAIN = 1.03
# Simple orders do at most this share of the best work, by the model and estimated times.
FRAMES_BEATABLE = 0.8
# The best levels of the model do at least so much of the work of simple orders, frame by frame, whichever of
# these least shares they leave to each job.
FRAMES_REACHED, CAUTIOUS = 1.08, (0.15, 0.2, 0.25, 0.3)
_FRAMES_PS = round(FRAMES_US * 10**6)
TOPOLOGY = {"name": "rail-only", "domains": 7, "hb_size": 2, "radix": 6, "uplinks": 1, "spines": 1}
MEMBERS = tuple([f"gpu{2 * k + n}" for n in (0, 1, 6, 7)] for k in range(3))
UPLINK = "uplink"
# 200 Gbit/s.
UPLINK_BYTES_US = 25_000

Levels = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A job in the order of arrival; `sends` are the us for which it keeps each link busy in an iteration."""

    name: str
    gpus: int
    compute_us: float
    overlap: float
    sends: Mapping[str, float]

    @property
    def as_json(self) -> dict[str, Any]:
        """Argument of the student's function."""
        return {
            "name": self.name,
            "gpus": self.gpus,
            "compute_us": self.compute_us,
            "overlap": self.overlap,
            "sends_us": dict(self.sends),
        }


@final
@dataclass(frozen=True, slots=True)
class Work:
    """GPU time of computation until the horizon, and the least share of its own that a job has, and whose."""

    total: float
    least: float
    job: str


@final
class JobSet:
    """Jobs that arrive together, and what schedules of them do."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = tuple(jobs)
        links = sorted({link for job in jobs for link in job.sends})
        self._profiles = [
            JobProfile(job.compute_us, {links.index(link): us for link, us in job.sends.items()}, job.overlap)
            for job in jobs
        ]
        self.horizon_us = ITERATIONS * max(profile.iteration for profile in self._profiles)
        self._known: dict[Levels, Work] = {}

    def work(self, levels: Sequence[int]) -> Work:
        """Return the work of jobs on these levels, 0 being served first."""
        # Levels count by their order only.
        used = sorted(set(levels))
        same = tuple(used.index(level) for level in levels)
        if same not in self._known:
            ran = simulate(self._profiles, same, self.horizon_us)
            alone = [self.horizon_us * own.compute / own.iteration for own in self._profiles]
            shares = ran.computed / np.array(alone)
            worst = int(np.argmin(shares))
            total = float(np.array([job.gpus for job in self.jobs], float) @ ran.computed)
            self._known[same] = Work(total, float(shares[worst]), self.jobs[worst].name)
        return self._known[same]

    @property
    def first_come(self) -> Work:
        """Work if jobs go first in the order of their arrival."""
        return self.work([min(number, LEVELS - 1) for number in range(len(self.jobs))])

    @property
    def simple(self) -> float:
        """Work by simple orders: first come first served or one level for all, whichever does more."""
        return max(self.first_come.total, self.work([0] * len(self.jobs)).total)

    @property
    def best(self) -> Work | None:
        """Most work of all levels by which no job starves; None if there are no such levels."""
        return max(self._without_starving(), key=lambda work: work.total, default=None)

    @property
    def is_beatable(self) -> bool:
        """True if levels that starve no job do clearly more work than `simple`."""
        simple = self.simple
        return any(simple <= BEATABLE * work.total for work in self._without_starving())

    def _without_starving(self) -> Iterator[Work]:
        every = (self.work(levels) for levels in product(range(LEVELS), repeat=len(self.jobs)))
        return (work for work in every if work.least >= STARVED)


def draw_set(random: Random) -> JobSet:
    """Draw jobs of which simple orders make too little, and none need starve."""
    while True:
        jobs = [_draw_job(random, f"job{number}") for number in range(JOBS)]
        drawn = JobSet(jobs)
        if drawn.is_beatable:
            return drawn


def _draw_job(random: Random, name: str) -> Job:
    compute = round(random.uniform(10, 60), 1)
    sending = round(compute * random.uniform(0.4, 2.0), 1)
    links = random.sample([f"link{number}" for number in range(LINKS)], random.choice((1, 1, 2)))
    gpus, overlap = random.choice((8, 16, 32, 64, 128)), random.choice((0.0, 0.0, 0.5))
    return Job(name, gpus, compute, overlap, dict.fromkeys(sorted(links), sending))


def work(attempt: Attempt) -> Verdict:
    """The student's levels do more work than first come first served and than one level for all."""
    sets, answers = _answered(attempt)
    expected = (
        f"{GAIN - 1:.0%} more work than first come first served and one level for all, on average of {SETS} "
        f"drawn sets, and more in {BETTER_SETS} of them"
    )
    done = [drawn.work(levels).total for drawn, levels in zip(sets, answers, strict=True)]
    simple = [drawn.simple for drawn in sets]
    more = sum(ours > theirs for ours, theirs in zip(done, simple, strict=True))
    # A set counts by its ratio, so that no set of large jobs decides alone.
    gain = float(np.mean(np.array(done) / np.array(simple)))
    observed = f"{gain - 1:+.1%} work on average, more in {more} sets"
    if gain < GAIN or more < BETTER_SETS:
        worst = int(np.argmin(np.array(done) / np.array(simple)))
        return failed(expected, observed, _show(sets[worst], answers[worst]))
    return passed(expected, observed)


def fair(attempt: Attempt) -> Verdict:
    """No job starves, and the work still beats simple orders."""
    sets, answers = _answered(attempt)
    expected = f"every job computes at least {STARVED:.0%} of what it computes alone, in {SETS} sets"
    starved = [
        (drawn, levels)
        for drawn, levels in zip(sets, answers, strict=True)
        if drawn.work(levels).least < STARVED
    ]
    if starved:
        drawn, levels = starved[0]
        seen = drawn.work(levels)
        return failed(
            expected,
            f"a job starves in {len(starved)} sets; {seen.job} computes {seen.least:.0%}",
            f"what do the jobs before {seen.job} leave of its links? {_show(drawn, levels)}",
        )
    enough = work(attempt)
    if not enough.passed:
        return failed(f"{expected}; and {enough.expected}", enough.observed, enough.look)
    least = min(drawn.work(levels).least for drawn, levels in zip(sets, answers, strict=True))
    return passed(expected, f"the worst share is {least:.0%}")


def best(attempt: Attempt) -> Verdict:
    """The work is close to the best of all levels by which no job starves."""
    sets, answers = _answered(attempt)
    expected = f"{OF_BEST:.0%} of the work of the best levels that starve no job, on average of {SETS} sets"
    if not (before := fair(attempt)).passed:
        return failed(expected, before.observed, before.look)
    bests = [drawn.best for drawn in sets]
    shares = [
        drawn.work(levels).total / top.total
        for drawn, levels, top in zip(sets, answers, bests, strict=True)
        if top is not None
    ]
    observed = f"{np.mean(shares):.1%} on average, {min(shares):.1%} in the worst set"
    if np.mean(shares) < OF_BEST:
        worst = int(np.argmin(shares))
        return failed(expected, observed, _show(sets[worst], answers[worst]))
    return passed(expected, observed)


def frames(attempt: Attempt) -> Verdict:
    """On a fabric of packets, jobs measured alone do more work by the student's levels."""
    expected = (
        f"{FRAMES_GAIN - 1:.0%} more work in {FRAMES_US:g} µs than first come first served and one level for "
        f"all, frame by frame, and every job at least {STARVED:.0%} of what it computes alone"
    )
    if not (before := work(attempt)).passed:
        return failed(expected, f"stage 1 fails: {before.observed}", before.look)
    measured = _draw_measured(attempt.random("frames"))
    jobs = [_measured(number, us, sends) for number, (us, sends) in enumerate(measured.sends)]
    levels = _levels(jobs, attempt.call(ANSWER, FUNCTION, [job.as_json for job in jobs], LEVELS))
    ours = measured.computed(levels)
    gain = sum(ours) / measured.simple
    observed = f"{gain - 1:+.1%} work"
    share, worst = min(
        (got / full, job.name) for got, full, job in zip(ours, measured.alone, jobs, strict=True)
    )
    shown = _show(JobSet(jobs), levels)
    if share < STARVED:
        return failed(expected, f"{observed}; {worst} computes {share:.0%}", shown)
    if gain < FRAMES_GAIN:
        return failed(expected, observed, shown)
    return passed(expected, f"{observed}; the worst share is {share:.0%}")


@final
class _MeasuredJobs:
    """Drawn jobs on the embedded testbed: what they compute until the horizon, in ps, alone and together."""

    def __init__(self, drawn: Sequence[tuple[float, int]], seed: int) -> None:
        self._drawn, self._seed = drawn, seed
        self._known: dict[Levels, list[int]] = {}
        reports = [_run([number], drawn, [0], seed)[0] for number in range(len(drawn))]
        self.alone = [computed_ps(report, _FRAMES_PS) for report in reports]
        self.sends = [
            (us, {UPLINK: round(min(report.lengths_ps) / 10**6 - us, 2)})
            for (us, _), report in zip(drawn, reports, strict=True)
        ]

    def computed(self, levels: Sequence[int]) -> list[int]:
        """Return the computation of each job if all run together on these levels."""
        key = tuple(levels)
        if key not in self._known:
            reports = _run(range(len(self._drawn)), self._drawn, key, self._seed)
            self._known[key] = [computed_ps(report, _FRAMES_PS) for report in reports]
        return self._known[key]

    @property
    def simple(self) -> int:
        """Computation by simple orders, whichever does more."""
        number = len(self._drawn)
        return max(sum(self.computed(range(number))), sum(self.computed([0] * number)))


def _best_levels(jobs: JobSet, least: float) -> Levels:
    """Return the levels of most work in the model by which each job has a least share of its own."""
    every = product(range(LEVELS), repeat=len(jobs.jobs))
    return max(every, key=lambda levels: (jobs.work(levels).least >= least, jobs.work(levels).total))


def _draw_measured(random: Random) -> _MeasuredJobs:
    """Draw jobs of which good levels make more than simple orders, in the model and frame by frame."""
    while True:
        drawn = [(round(random.uniform(8, 50), 1), random.choice((48, 96, 144)) * 1024) for _ in MEMBERS]
        # Each element of 4 bytes crosses an uplink once each way: an estimate.
        guess = JobSet(
            [
                _measured(number, us, {UPLINK: elements * 4 / UPLINK_BYTES_US})
                for number, (us, elements) in enumerate(drawn)
            ]
        )
        if guess.best is None or guess.simple > FRAMES_BEATABLE * guess.best.total:
            continue
        measured = _MeasuredJobs(drawn, random.randrange(2**31))
        jobs = JobSet([_measured(number, us, sends) for number, (us, sends) in enumerate(measured.sends)])
        good = {_best_levels(jobs, least) for least in CAUTIOUS}
        if all(sum(measured.computed(levels)) >= FRAMES_REACHED * measured.simple for levels in good):
            return measured


def _measured(number: int, compute_us: float, sends: Mapping[str, float]) -> Job:
    return Job(f"job{number}", len(MEMBERS[number]), compute_us, 0.0, sends)


def _run(
    numbers: Sequence[int], drawn: Sequence[tuple[float, int]], levels: Sequence[int], seed: int
) -> tuple[JobReport, ...]:
    """Run some of the drawn jobs on the embedded testbed, each with its level as priority."""
    jobs = [
        {
            "name": f"job{number}",
            # Enough to run until the horizon, alone as well.
            "iterations": int(FRAMES_US / drawn[number][0]) + 1,
            "compute_us": drawn[number][0],
            "priority": level,
            "collective": {"elements": drawn[number][1], "members": MEMBERS[number]},
        }
        for number, level in zip(numbers, levels, strict=True)
    ]
    document = Document.of_values(
        {
            "name": "jobs",
            "topology": TOPOLOGY,
            "collective": {"kind": "allreduce", "algorithm": "direct", "payload_bytes": 4096},
            "routing": {"strategy": "shortest", "peers": "job"},
            "link": {"credit_bytes": 262144},
            "transport": {"initial_rto_us": 4000, "min_rto_us": 2000},
            "variants": [{"name": "run", "jobs": jobs}],
        }
    )
    return observe(prepare(read(document)[0], document)[0], seed).jobs


def _answered(attempt: Attempt) -> tuple[list[JobSet], list[Levels]]:
    """Return the drawn sets and the student's levels, asked for once."""

    def ask() -> tuple[list[JobSet], list[Levels]]:
        random = attempt.random("sets")
        sets = [draw_set(random) for _ in range(SETS)]
        calls = [[[job.as_json for job in drawn.jobs], LEVELS] for drawn in sets]
        answers = attempt.call_each(ANSWER, FUNCTION, calls)
        return sets, [_levels(drawn.jobs, answer) for drawn, answer in zip(sets, answers, strict=True)]

    return attempt.shared("answered", ask)


def _levels(jobs: Sequence[Job], answer: Any) -> Levels:
    """Return a student's answer in the order of the jobs; StudentError says what is wrong with its form."""
    names = [job.name for job in jobs]
    if not isinstance(answer, dict) or sorted(answer) != sorted(names):
        raise StudentError(
            f"{FUNCTION} returned {str(answer)[:100]}",
            f"return a dict with a level for each of {', '.join(names)}",
        )
    for name, level in answer.items():
        if type(level) is not int or not 0 <= level < LEVELS:
            raise StudentError(
                f"{FUNCTION} gave {name} the level {str(level)[:20]}", f"give 0 to {LEVELS - 1}"
            )
    return tuple(answer[name] for name in names)


def _show(drawn: JobSet, levels: Sequence[int]) -> str:
    """Describe a set and its levels in a line."""
    shown = (
        f"{job.name}: {job.gpus} GPUs compute {job.compute_us:g} µs, send {dict(job.sends)} µs, level {level}"
        for job, level in zip(drawn.jobs, levels, strict=True)
    )
    return "; ".join(shown)
