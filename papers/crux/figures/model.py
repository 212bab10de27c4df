# SPDX-License-Identifier: Apache-2.0
"""Crux's model of jobs: intensity, Theorem 1, two jobs that contend, priority between two jobs."""

from __future__ import annotations

import numpy as np

from controller.jobs import (
    Job,
    JobProfile,
    Schedule,
    bottleneck_seconds,
    correction,
    intensity,
    priorities,
    simulate,
    utilisation,
)
from papers.claims import Measured, Progress, Values, over_seeds
from papers.crux.contended import Setting, works
from papers.crux.pair import contention, fitted_share


def measure_intensity(note: Progress, draws: int = 20, rate: float = 1.0, iterations: int = 1000) -> Values:
    """Measure intensity on cases solved by hand, and compare transmitted intensity with work (Theorem 1)."""
    note("cases by hand", 0.0)
    job = Job("a", 16, 4.0, np.array([3.0, 1.0]), np.array([[[0, -1], [1, -1]], [[0, 2], [1, 2]]]))
    together, apart = np.array([0, 0]), np.array([0, 1])
    rates = rate * np.ones(3)
    rng = np.random.default_rng(1)
    worst = 0.0
    for draw in range(draws):
        note(f"{iterations:,} iterations on one link", draw / draws)
        number = int(rng.integers(2, 6))
        jobs = [
            JobProfile(
                rng.uniform(0.5, 2.0), {0: rng.uniform(0.2, 1.0)}, overlap=float(rng.choice([0.0, 0.5]))
            )
            for _ in range(number)
        ]
        gpus = 2.0 ** rng.integers(3, 8, number)
        seconds = iterations * max(job.iteration for job in jobs)
        ran = simulate(jobs, rng.permutation(number).tolist(), seconds)
        sent = sum(
            n * job.compute / job.sending * time for n, job, time in zip(gpus, jobs, ran.sent, strict=True)
        )
        worst = max(worst, abs(float(sent / (gpus @ ran.computed)) - 1))
    return {
        "t-together": bottleneck_seconds(job, together, rates),
        "t-apart": bottleneck_seconds(job, apart, rates),
        "t-slow": bottleneck_seconds(job, apart, rates * np.array([1.0, 1.0, 0.25])),
        "intensity": intensity(job, together, rates),
        "theorem": 100 * worst,
    }


def measure_priority(note: Progress, draws: int = 30, sends: float = 2.0, more: int = 1) -> Values:
    """Measure the paper's two examples of k, Crux's correction of a job's intensity, and whom k favours.

    Args:
        draws: number of random pairs of jobs; the result counts how often k favours the shorter job, and the
            job whose communication its computation does not hide.
        sends: seconds of sending of the longer job of the first example.
        more: factor of the NPUs or the work of the job that k should not favour.
    """
    note("the paper's examples", 0.0)
    longer, shorter = JobProfile(2.0, {0: sends}), JobProfile(1.0, {0: 1.0})
    path = np.zeros((1, 1, 1), np.int64)
    jobs = [Job("1", 10, 2.0, np.array([sends]), path), Job("2", 10, 1.0, np.array([1.0]), path)]
    choice, rates = np.zeros(1, np.int64), np.ones(1)
    works = [
        100 * utilisation(jobs, Schedule.of([choice, choice], np.array(levels)), rates, 1200.0)
        for levels in ([0, 1], [1, 0])
    ]
    rng = np.random.default_rng(2)
    first = hidden = 0
    for draw in range(draws):
        note("pairs of equal intensity", draw / draws)
        times = rng.uniform(1.3, 4.0)
        compute, amount = rng.uniform(0.5, 1.5, 2)
        pair = [
            Job("long", 8 * more, times * compute, np.array([times * amount]), path),
            Job("short", 8, compute, np.array([amount]), path),
        ]
        value, _ = priorities(pair, [choice, choice], rates)
        first += bool(value[1] > value[0])
        amount = rng.uniform(0.56, 0.62)
        pair = [
            Job("hidden", 8, 1.0, np.array([amount]), path, 0.9, work=float(more)),
            Job("not", 8, 1.0 - amount, np.array([amount]), path, work=1.0),
        ]
        value, _ = priorities(pair, [choice, choice], rates)
        hidden += bool(value[1] > value[0])
    return {
        "first-first": works[0],
        "second-first": works[1],
        "k": correction(shorter, longer),
        "shorter": 100 * first / draws,
        "hidden": 100 * hidden / draws,
    }


def measure_pair(note: Progress, share: float | None = None, levels: tuple[int, int] = (0, 1)) -> Values:
    """Measure the losses of a GPT and a BERT that contend for a link, in one class and by priority."""
    note("a GPT and a BERT", 0.0)
    own = fitted_share() if share is None else share
    result, ranked = contention(own), contention(own, levels=levels)
    lost = []
    others = [(seconds, part) for seconds in (0.4, 1.0) for part in (0.3, 0.5)]
    for done, (seconds, part) in enumerate(others):
        note("other BERTs", done / len(others))
        lost.append(100 * contention(fitted_share(1.11, seconds, part), seconds, part).work)
    words = f"{min(lost):.1f} to {max(lost):.1f} % with other BERTs"
    return {
        "longer": Measured(100 * (result.longer - 1), detail=f"sending {100 * own:.1f} % of an iteration"),
        "gpt": 100 * result.gpt,
        "bert": 100 * result.bert,
        "work": Measured(100 * result.work, detail=words),
        "ranked": 100 * (ranked.longer - 1),
    }


_SETTINGS: tuple[Setting, ...] = ("link", "uplinks")
# Orders and schedulers with which Crux is compared.
_OVER = ("random order", "turned", "shortest-first", "fair", "interleave")


def measure_contended(note: Progress, draws: int = 20, own: str = "crux") -> Values:
    """Measure the gain in work of an order by intensity over other orders, if paths make no difference."""
    result: dict[str, Measured | float] = {}
    for setting in _SETTINGS:
        note(setting, 0.5 * (setting == "uplinks"))
        done = works(setting, range(1, draws + 1), ("crux", *_OVER))
        for name in _OVER:
            gains = [100 * (mine / other - 1) for mine, other in zip(done[own], done[name], strict=True)]
            result[f"{setting}-{name.replace(' ', '-')}"] = over_seeds(gains)
    return result
