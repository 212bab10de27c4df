# SPDX-License-Identifier: Apache-2.0
"""Crux's claims: computed, with few draws where they are many, and mutated."""

import pytest

from papers.claims import Kind, Measured, passed, rows_of, verdict
from papers.crux.figures.jobs import measure_trace
from papers.crux.figures.model import measure_intensity
from papers.crux.steps import measure_compression, measure_paths, measure_steps
from tests.papers.checks import checks, turns_of

CHECKS = checks("crux")


def silent(stage: str, share: float) -> None:
    """Take no note of progress."""


def test_checks_that_take_minutes():
    assert [name for name, check in CHECKS.items() if check.long] == [
        "trace-connections",
        "two-weeks",
        "steps-five",
    ]


@pytest.mark.parametrize("name", ["baselines", "priority"])
def test_every_mutation_of_a_computed_claim_turns_it(name: str):
    assert passed(rows_of(CHECKS[name]))
    assert [turn.row.claim.name for turn in turns_of(CHECKS[name]) if not turn.turned] == []


def test_few_draws_are_accepted():
    values = {
        "intensity": measure_intensity(silent, draws=2),
        "paths": measure_paths(silent, draws=10),
        "compression": measure_compression(silent, draws=10),
        "steps": measure_steps(silent, jobs=3, cases=3),
    }
    for name, measured in values.items():
        for claim in CHECKS[name].claims:
            value = measured[claim.name]
            value = value if isinstance(value, Measured) else Measured(float(value))
            assert verdict(claim, value) != "unexpected", claim.name


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["contended", "contention", "testbed", "packet-priorities", "packet-profiling"]
)
def test_what_is_measured_is_accepted(name: str):
    assert passed(rows_of(CHECKS[name]))


def test_gains_on_the_testbed_are_fitted():
    kinds = {claim.name: claim.kind for claim in CHECKS["testbed"].claims}
    assert {kind for name, kind in kinds.items() if name.startswith("gain")} == {Kind.fitted}


def test_a_gain_far_above_or_below_the_papers_is_unexpected():
    claim = next(claim for claim in CHECKS["trace"].claims if claim.name == "tiers-topology-aware")
    assert verdict(claim, Measured(900.0)) == "unexpected"
    assert verdict(claim, Measured(-20.0)) == "unexpected"
    assert verdict(claim.model_copy(update={"expected": None}), Measured(0.0)) == "unexpected"


def test_paths_alone_are_compared_on_the_same_jobs():
    values = measure_trace(silent, keys=("clos",), days=0.02, seeds=(1,))
    assert set(values) == {"clos-shortest-first", "clos-topology-aware", "clos-interleave", "clos-paths"}
