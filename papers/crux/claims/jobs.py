# SPDX-License-Identifier: Apache-2.0
"""Crux beside other schedulers, at flow level: 96 accelerators, and a trace on 2,080."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from papers.crux.study import Comparison, Study

__all__ = ["CHECKS", "judged", "run_testbed"]

# The paper's gains of utilisation on its testbed over a network left to itself, % (section 6.2).
_TESTBED = {
    "GPT on 32, 2 BERTs on 8": "8.3 to 12.9 %",
    "GPT on 32, 4 BERTs on 8": "8.3 to 12.9 %",
    "GPT on 32, 6 BERTs on 8": "8.3 to 12.9 %",
    "GPT on 48, 2 BERTs on 16, 2 ResNets on 8": "13.9 %",
}

_SIDES = ("none", "fair", "shortest-first", "topology-aware", "interleave", "crux")

_BAND = (4.0, 23.0)
# Crux measures a job for its first 30 s, which the others are spared; and paths are chosen one by one, where
# another order alone changes utilisation by as much.
_AS_GOOD = 1.005
_DAY = {"shortest-first": 26, "topology-aware": 14, "interleave": 5}

_REASONS = {
    "shortest-first": "it puts the jobs that send most last, and here these hold most accelerators and wait"
    " for flows that a hash put on one link; what models send is not published, and decides what that costs",
    "interleave": "flows of one job that a hash puts on one link meet each other whatever the shift; how many"
    " connections a pair of accelerators has is not published, and one is the worst case",
    "topology-aware": "here it knows all links and paths as Crux does, and with these paths little contention"
    " is left for priorities; the paper's adaptation is told in one sentence",
    "testbed": "where jobs stand, how wide the links up are and what models send is not published: half as"
    " many links up give 19 to 37 %, half as many of twice the width 1 to 3 %",
}


def run_testbed(note: Progress, seconds: float = 60.0, draws: int = 8) -> Sequence[Finding]:
    """Utilisation of the paper's mixes of jobs under every scheduler."""
    from papers.crux.testbed import CASES, compared

    rows: list[Finding] = []
    gains: list[float] = []
    for done, name in enumerate(CASES):
        note(name, done / len(CASES))
        result = compared(name, _SIDES, seconds=seconds, draws=draws)
        none, crux = result["none"], result["crux"]
        gains.append(100 * (crux.utilisation / none.utilisation - 1))
        gpt = 100 * (crux.iterations[0] / none.iterations[0] - 1)
        rows.append(
            Finding(
                f"{name}: utilisation gained; GPT's iteration",
                "Crux, section 6.2",
                f"{_TESTBED[name]}; {'-18' if '48' in name else '-11 to -25'} %",
                f"{gains[-1]:+.1f} % ({100 * none.utilisation:.1f} to {100 * crux.utilisation:.1f} %, alone "
                f"{100 * result['alone'].utilisation:.1f} %); {gpt:+.0f} %",
                "not judged",
                _REASONS["testbed"],
            )
        )
        best = max(_SIDES, key=lambda side: result[side].utilisation)
        good = result[best].utilisation <= _AS_GOOD * crux.utilisation
        rows.append(
            Finding(
                f"{name}: utilisation under {', '.join(_SIDES)}",
                "Crux, section 6.2",
                "none above Crux",
                ", ".join(f"{100 * result[side].utilisation:.1f}" for side in _SIDES) + " %",
                "holds" if good else "differs",
                "" if good else f"{best} is: {_REASONS['testbed']}",
                known=none.utilisation <= _AS_GOOD * crux.utilisation,
            )
        )
    mean = sum(gains) / len(gains)
    rows.append(
        Finding(
            "mean gain of utilisation on 96 accelerators",
            "Crux, section 6.2: 8.3 to 14.8 %",
            "8 to 15 %",
            f"{mean:+.1f} %",
            "holds" if 8 <= mean <= 15 else "differs",
            _REASONS["testbed"],
            known=mean > 0,
        )
    )
    return tuple(rows)


@lru_cache(maxsize=8)
def _compared(study: Study) -> Comparison:
    from papers.crux.study import run

    return run(study)


def judged(result: Comparison) -> Sequence[Finding]:
    """Utilisations by scheduler, and Crux's gain over each."""
    from papers.crux.study import BASELINES

    study = result.study
    jobs = len(next(iter(result.outcomes.values())).jobs)
    pair = f"{study.connections} connection{'s' * (study.connections > 1)} a pair"
    where = f"{study.fabric}, {study.placement} placement, {pair}, {jobs:,} jobs"
    names = list(result.outcomes)
    own = result.utilisation("crux")
    rows = [
        Finding(
            f"utilisation of held accelerators, {where}: {', '.join(names)}",
            "Crux, figure 23: no numbers in the text",
            "-",
            ", ".join(f"{100 * result.utilisation(name):.1f}" for name in names) + " %",
            "not judged",
            "the paper's trace has no traffic, and its shares of sending are not published",
        ),
        Finding(
            f"baselines above Crux by 0.5 % or more, {where}",
            "Crux, section 6.3",
            "none",
            ", ".join(name for name in BASELINES if result.utilisation(name) > _AS_GOOD * own) or "none",
            "holds" if all(result.utilisation(name) <= _AS_GOOD * own for name in BASELINES) else "differs",
        ),
    ]
    low, high = _BAND
    for name, title in BASELINES.items():
        gain = 100 * result.gain("crux", name)
        good = low <= gain <= high
        rows.append(
            Finding(
                f"gain over {name} ({title}), {where}",
                f"Crux, section 6.3: 4 to 7 % on three tiers, 13 to 23 % on two; first day {_DAY[name]} %",
                "4 to 23 %",
                f"{gain:+.1f} %",
                "holds" if good else "differs",
                "" if good else _REASONS[name],
                known=gain > -100 * (_AS_GOOD - 1),
            )
        )
    share, held = result.slowed("none") if "none" in result.outcomes else (0.0, 0.0)
    rows.append(
        Finding(
            f"jobs that run slower than alone with hashes and no priorities; of accelerators' time, {where}",
            "Crux, section 2.2: at risk of contention",
            "36.3 %; 51 %",
            f"{100 * share:.1f} %; {100 * held:.0f} %",
            "not judged",
            "at risk is more than slowed; the paper's placement is not published",
        )
    )
    return tuple(rows)


def _short() -> Sequence[Study]:
    from papers.crux.study import Study
    from papers.crux.workloads import Lingjun

    names = ("none", "shortest-first", "topology-aware", "interleave", "crux")
    hours = Lingjun(days=0.25)
    return (
        Study(hours, schedulers=names),
        Study(hours, connections=4, schedulers=names),
        Study(hours, "clos", placement="random", schedulers=names),
    )


def _run_short(note: Progress) -> Sequence[Finding]:
    rows: list[Finding] = []
    for done, study in enumerate(_short()):
        note(f"six hours under five schedulers, {study.fabric}", done / 3)
        rows += judged(_compared(study))
    return tuple(rows)


def _long() -> Sequence[Study]:
    from papers.crux.study import Study
    from papers.crux.workloads import Lingjun

    return (Study(), Study(fabric="clos"), Study(trace=Lingjun()))


def _run_long(note: Progress) -> Sequence[Finding]:
    rows: list[Finding] = []
    for done, study in enumerate(_long()):
        note(f"{study.trace.days:g} days on {study.fabric} under eight schedulers", done / 3)
        rows += judged(_compared(study))
    return tuple(rows)


def _picture() -> str:
    from papers.crux.plot import utilisation_svg

    return utilisation_svg([_compared(study) for study in _short()])


def _long_picture() -> str:
    from papers.crux.plot import utilisation_svg

    return utilisation_svg([_compared(study) for study in _long()])


CHECKS = (
    FindingsCheck("testbed", "crux", "Jobs side by side on 96 accelerators, at flow level", run_testbed),
    FindingsCheck(
        "trace",
        "crux",
        "Six hours of jobs on 2,080 accelerators, at flow level",
        _run_short,
        picture=_picture,
    ),
    FindingsCheck(
        "two-weeks",
        "crux",
        "A day under all schedulers, also on two tiers, and two weeks",
        _run_long,
        long=True,
        picture=_long_picture,
    ),
)
