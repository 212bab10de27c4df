# SPDX-License-Identifier: Apache-2.0
"""Crux's claims about jobs, with few draws; judging of gains."""

from collections.abc import Callable, Sequence

import pytest

from papers.claims import Progress, checks
from papers.claims.findings import Finding
from papers.crux.claims import jobs as crux_jobs
from papers.crux.claims import model as crux_model
from papers.crux.claims import steps as crux_steps
from papers.crux.study import Study, run
from papers.crux.workloads import Lingjun
from tests.papers.claim_checks import as_expected

FEW: dict[str, Callable[[Progress], Sequence[Finding]]] = {
    "intensity": lambda note: crux_model.run_intensity(note, draws=2),
    "priority": lambda note: crux_model.run_corrections(note, draws=4),
    "paths": lambda note: crux_steps.run_paths(note, draws=10),
    "compression": lambda note: crux_steps.run_compression(note, draws=10),
    "steps": lambda note: crux_steps.run_steps(note, jobs=3, cases=3),
    "testbed": lambda note: crux_jobs.run_testbed(note, seconds=6.0, draws=1),
}


@pytest.mark.parametrize("name", FEW)
def test_what_comes_out_is_what_the_paper_says(name: str) -> None:
    as_expected(FEW[name])


def test_only_what_takes_minutes_is_long() -> None:
    short = {claim.name for claim in checks("crux") if not claim.long}
    assert {*FEW, "contention", "trace"} <= short
    assert {"two-weeks", "steps-five"} & short == set()


def test_a_gain_outside_of_the_band_is_known_and_a_loss_is_not() -> None:
    names = ("none", "shortest-first", "topology-aware", "interleave", "crux")
    result = run(Study(Lingjun(days=0.02), schedulers=names))
    rows = crux_jobs.judged(result)
    assert [row for row in rows if row.fails] == []
    assert sum("gain over" in row.claim for row in rows) == 3
    swapped = dict(result.outcomes)
    swapped["crux"], swapped["topology-aware"] = swapped["shortest-first"], swapped["crux"]
    worse = crux_jobs.judged(type(result)(result.study, swapped))
    assert [item.claim for item in worse if item.fails]
