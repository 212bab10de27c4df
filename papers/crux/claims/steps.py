# SPDX-License-Identifier: Apache-2.0
"""Crux's three steps, each against the best of all choices."""

from __future__ import annotations

from collections.abc import Sequence

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

__all__ = ["CHECKS", "run_compression", "run_paths", "run_steps"]

_NEAR = 0.97
_STEPS = "Crux, section 4.4"


def run_paths(note: Progress, draws: int = 200) -> Sequence[Finding]:
    """Check that the most intensive jobs, as many as there are disjoint paths, never share a link."""
    import numpy as np

    from controller.jobs import Job, intensity, least_congested, ranking

    rng = np.random.default_rng(1)
    met = 0
    for draw in range(draws):
        note("paths", draw / draws)
        ways = int(rng.integers(2, 9))
        paths = np.array([[[spine, ways + spine] for spine in range(ways)]])
        jobs = [
            Job(f"job{n}", int(2 ** rng.integers(3, 9)), rng.uniform(0.2, 2), rng.uniform(0.1, 1, 1), paths)
            for n in range(2 * ways)
        ]
        rates = np.ones(2 * ways)
        value = np.array([intensity(job, np.zeros(1, np.int64), rates) for job in jobs])
        order = ranking(value).tolist()
        choices = least_congested(jobs, order, rates)
        met += len({int(choices[number][0]) for number in order[:ways]}) < ways
    return (
        Finding(
            f"cases in which jobs of highest intensity share a link although paths apart exist, of {draws}",
            "Crux, section 4.1",
            "0",
            f"{met}",
            "holds" if not met else "differs",
        ),
    )


def run_compression(note: Progress, draws: int = 200) -> Sequence[Finding]:
    """Cuts of random contention graphs of up to eight jobs, against those of every assignment."""
    import numpy as np

    from controller.jobs import best_cut, compress, contention, cut_weight, has_inversion

    rng = np.random.default_rng(1)
    shares, turned = [], 0
    for draw in range(draws):
        note("graphs", draw / draws)
        number, levels = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        uses = rng.random((number, 6)) < rng.uniform(0.2, 0.5)
        weights = contention(uses, rng.permutation(number), rng.uniform(0.1, 10, number))
        result = compress(weights, levels)
        turned += has_inversion(weights, result)
        most = cut_weight(weights, best_cut(weights, levels))
        shares.append(cut_weight(weights, result) / most if most else 1.0)
    return (
        Finding(
            "edges inverted", "Crux, section 4.3", "0", f"{turned}", "holds" if not turned else "differs"
        ),
        Finding(
            f"cut against the best, 3 to 8 jobs on 2 to 4 levels, {draws} graphs: least, mean",
            "derived here: 97 % at least",
            "97 %",
            f"{100 * min(shares):.2f} %, {100 * float(np.mean(shares)):.2f} %",
            "holds" if min(shares) >= _NEAR else "differs",
        ),
    )


def run_steps(note: Progress, jobs: int = 4, levels: int = 2, cases: int = 20) -> Sequence[Finding]:
    """Utilisation with one step by Crux and the others the best."""
    import numpy as np

    from papers.crux.steps import drawn, reached

    rng = np.random.default_rng(1)
    result = []
    for case in range(cases):
        note(f"case {case + 1} of {cases}", case / cases)
        some, rates = drawn(rng, jobs)
        result.append(reached(some, rates, levels))
    published = {"paths": 97.69, "priorities": 97.24, "compression": 97.12}
    rows = []
    for step, percent in published.items():
        shares = [100 * getattr(item, step) for item in result]
        rows.append(
            Finding(
                f"{step}: of the best, {cases} cases of {jobs} jobs, {levels} levels: mean; least",
                f"{_STEPS}, 1,500 cases of 5 jobs, 3 levels",
                f"{percent} %",
                f"{np.mean(shares):.2f} %, {min(shares):.2f} %",
                "holds" if np.mean(shares) >= 100 * _NEAR else "differs",
                "at least 97 % is what is judged: the paper's jobs are not published",
            )
        )
    first = float(np.mean([100 * item.first for item in result]))
    rows.append(
        Finding(
            "compression that gives levels to the first jobs, as Sincronia does: of the best, mean",
            f"{_STEPS}, figure 16(c): below Crux",
            "-",
            f"{first:.2f} %",
            "not judged",
            "the paper gives no figure in its text",
        )
    )
    return tuple(rows)


def _five(note: Progress) -> Sequence[Finding]:
    return run_steps(note, 5, 3, 12)


CHECKS = (
    FindingsCheck("paths", "crux", "Paths of the most intensive jobs", run_paths),
    FindingsCheck("compression", "crux", "Few levels for many priorities", run_compression),
    FindingsCheck("steps", "crux", "Each step beside the best of all choices, four jobs", run_steps),
    FindingsCheck("steps-five", "crux", "The same, five jobs on three levels", _five, long=True),
)
