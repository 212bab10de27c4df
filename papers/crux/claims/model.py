# SPDX-License-Identifier: Apache-2.0
"""Crux's model of jobs: intensity, Theorem 1, two jobs that contend, which of two goes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.figures import computing
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from papers.claims.model_figure import Figure

__all__ = ["CHECKS", "run_corrections", "run_intensity"]


def run_intensity(note: Progress, draws: int = 20) -> Sequence[Finding]:
    """Intensity by hand, and that what is sent of it is the work done."""
    import numpy as np

    from controller.jobs import Job, JobProfile, bottleneck_seconds, intensity, simulate

    note("cases by hand", 0.0)
    job = Job("a", 16, 4.0, np.array([3.0, 1.0]), np.array([[[0, -1], [1, -1]], [[0, 2], [1, 2]]]))
    together, apart = np.array([0, 0]), np.array([0, 1])
    values = [
        bottleneck_seconds(job, together, np.ones(3)),
        bottleneck_seconds(job, apart, np.ones(3)),
        bottleneck_seconds(job, apart, np.array([1.0, 1.0, 0.25])),
        intensity(job, together, np.ones(3)),
    ]
    by_hand = [4.0, 3.0, 4.0, 16.0]
    rng = np.random.default_rng(1)
    worst = 0.0
    for draw in range(draws):
        note("1,000 iterations on one link", draw / draws)
        number = int(rng.integers(2, 6))
        jobs = [
            JobProfile(
                rng.uniform(0.5, 2.0), {0: rng.uniform(0.2, 1.0)}, overlap=float(rng.choice([0.0, 0.5]))
            )
            for _ in range(number)
        ]
        gpus = 2.0 ** rng.integers(3, 8, number)
        ran = simulate(jobs, rng.permutation(number).tolist(), 1000 * max(job.iteration for job in jobs))
        sent = sum(
            n * job.compute / job.sending * time for n, job, time in zip(gpus, jobs, ran.sent, strict=True)
        )
        worst = max(worst, abs(float(sent / (gpus @ ran.computed)) - 1))
    return (
        Finding(
            "t and I of two flows over three links",
            "derived here: Crux, definition 2, by hand",
            ", ".join(f"{value:g}" for value in by_hand),
            ", ".join(f"{value:g}" for value in values),
            "holds" if values == by_hand else "differs",
        ),
        Finding(
            f"|F/U - 1| after 1,000 iterations, 2 to 5 jobs on a link, worst of {draws} draws",
            "Crux, theorem 1: tends to 0; below 1 % is our bound",
            "0",
            f"{100 * worst:.2g} %",
            "holds" if worst < 0.01 else "differs",
        ),
    )


def run_corrections(note: Progress, draws: int = 30) -> Sequence[Finding]:
    """Check the paper's two examples, and that k follows the rule they illustrate."""
    import numpy as np

    from controller.jobs import Job, JobProfile, Schedule, correction, priorities, utilisation
    from controller.jobs.priority import priority_gains

    note("the paper's examples", 0.0)
    longer, shorter = JobProfile(2.0, {0: 2.0}), JobProfile(1.0, {0: 1.0})
    path = np.zeros((1, 1, 1), np.int64)
    jobs = [Job("1", 10, 2.0, np.array([2.0]), path), Job("2", 10, 1.0, np.array([1.0]), path)]
    choice = np.zeros(1, np.int64)
    item = np.ones(1)
    shares = [
        100 * utilisation(jobs, Schedule.of([choice, choice], np.array(levels)), item, 1200.0)
        for levels in ([0, 1], [1, 0])
    ]
    gained, k = priority_gains(shorter, longer, 12.0), correction(shorter, longer)
    rows = [
        Finding(
            "example 1: accelerators' utilisation, job 1 first and job 2 first",
            "Crux, section 4.2, figure 11",
            "37.5 %, 41.7 %",
            f"{shares[0]:.1f} %, {shares[1]:.1f} %",
            "holds" if abs(shares[0] - 37.5) < 0.1 and abs(shares[1] - 41.7) < 0.1 else "differs",
        ),
        Finding(
            "example 1: seconds of sending that job 2 and job 1 gain in 12 by being first; k of job 2",
            "Crux, section 4.2",
            "3, 2; 1.5",
            f"{gained[0]:g}, {gained[1]:g}; {k:.3g}",
            "holds" if gained == (3.0, 2.0) and abs(k - 1.5) < 0.01 else "differs",
        ),
    ]
    rng = np.random.default_rng(2)
    first = hidden = 0
    for draw in range(draws):
        note("pairs of equal intensity", draw / draws)
        times = rng.uniform(1.3, 4.0)
        compute, sends = rng.uniform(0.5, 1.5, 2)
        pair = [
            Job("long", 8, times * compute, np.array([times * sends]), path),
            Job("short", 8, compute, np.array([sends]), path),
        ]
        value, _ = priorities(pair, [choice, choice], item)
        first += bool(value[1] > value[0])
        sends = rng.uniform(0.56, 0.62)
        pair = [
            Job("hidden", 8, 1.0, np.array([sends]), path, 0.9, work=1.0),
            Job("not", 8, 1.0 - sends, np.array([sends]), path, work=1.0),
        ]
        value, _ = priorities(pair, [choice, choice], item)
        hidden += bool(value[1] > value[0])
    rows += [
        Finding(
            "equal intensity: the shorter iteration has the higher priority",
            "Crux, section 4.2, example 1",
            f"{draws} of {draws} pairs",
            f"{first}",
            "holds" if first == draws else "differs",
            "" if first == draws else "where both fit between each other's sending the order changes nothing",
            known=first >= 0.8 * draws,
        ),
        Finding(
            "equal intensity and length, 56 to 62 % sending: hidden by computation goes last",
            "Crux, section 4.2, example 2",
            f"{draws} of {draws} pairs",
            f"{hidden}",
            "holds" if hidden == draws else "differs",
        ),
    ]
    return tuple(rows)


def _pair() -> Sequence[Figure]:
    from papers.crux.pair import pair_figures

    return pair_figures()


def _run_pair(note: Progress) -> Sequence[Finding]:
    """As formulas are; and how little it matters what BERT is taken to be."""
    from papers.crux.pair import contention, fitted_share

    rows = [*computing(_pair)(note)]
    lost = []
    others = [(seconds, share) for seconds in (0.4, 1.0) for share in (0.3, 0.5)]
    for done, (seconds, share) in enumerate(others):
        note("other BERTs", done / len(others))
        lost.append(100 * contention(fitted_share(1.11, seconds, share), seconds, share).work)
    rows.append(
        Finding(
            "accelerators' work lost, BERT's iteration 0.4 or 1 s, 30 or 50 % of it sending",
            "Crux, section 2.2",
            "9.5 %",
            f"{min(lost):.1f} to {max(lost):.1f} % (predicted)",
            "holds" if max(abs(item - 9.5) for item in lost) <= 2 else "differs",
        )
    )
    return tuple(rows)


CHECKS = (
    FindingsCheck(
        "intensity", "crux", "GPU intensity, and that what is sent of it is the work done", run_intensity
    ),
    FindingsCheck("contention", "crux", "A GPT and a BERT on one link", _run_pair),
    FindingsCheck("priority", "crux", "Which of two jobs goes first", run_corrections),
)
