# SPDX-License-Identifier: Apache-2.0
"""Every claim that comes with Railyard can fail: its mutation turns its verdict."""

import pytest

from harness.files import EXPERIMENTS
from papers.claims import Check, Claim, Measured, experiment_files, named_claims, read_claims, verdict
from papers.claims.mutations import changed
from tests.papers.checks import turns_of

FILES = named_claims()
CHECKS = {f"{name}-{check.name}": check for name, path in FILES.items() for check in read_claims(path).checks}

QUICK = {
    *(f"ub-mesh-{name}" for name in ("parts", "cables", "cost", "availability", "rack", "dcn", "rings")),
    *(f"ub-mesh-{name}" for name in ("rack-alternatives", "allreduce-balance", "training-traffic")),
    "ub-mesh-training-messages",
    "lumoscore-decomposition",
    *("03_deadlock-circle", "12_placements-rails", "13_rail_faults-healed", "13_rail_faults-lost"),
    *("16_hpn-single", "16_hpn-stacked", "17_paths-search"),
}
"""Checks that every run of the tests measures and mutates; the others take seconds to minutes."""

LARGE = {
    *("28_superpod_8192-superpod", "29_rails_16384-rails", "40_hpn_15360-balance"),
    "41_lumoscore_8192-circuits",
}
"""Checks that take many minutes and up to 16 GB of memory, which no test runs."""

SLOW = [name for name in CHECKS if name not in QUICK]


def turns_everywhere(claim: Claim) -> bool:
    """Return whether a mutation of the value flips the verdict at one or both finite ends of `accepted`."""
    mutation, accepted = claim.mutation, claim.accepted
    if mutation is None or mutation.parameters or mutation.value:
        return False
    ends = [Measured(end) for end in (accepted.low, accepted.high) if abs(end) != float("inf")]
    return bool(ends) and any(verdict(claim, changed(mutation, end)) == "unexpected" for end in ends)


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_names_exists(name: str):
    file = read_claims(FILES[name])
    file.examine(file.checks)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_claim_has_a_mutation_and_changed_values_always_turn(check: Check):
    for claim in check.claims:
        assert claim.mutation is not None, claim.name
        if not claim.mutation.parameters and not claim.mutation.value:
            assert turns_everywhere(claim), claim.name


@pytest.mark.long(*SLOW)
@pytest.mark.parametrize("name", [name for name in CHECKS if name not in LARGE])
def test_a_claim_is_accepted_and_its_mutation_turns_its_verdict(name: str):
    turns = turns_of(CHECKS[name])
    assert [turn.row.claim.name for turn in turns if not turn.turned] == []


def test_all_quick_checks_are_there():
    assert set(CHECKS) >= QUICK | LARGE


def test_experiments_that_stay_code_are_those_of_other_testbeds_and_simulators():
    code = {int(path.parent.name[:2]) for path in EXPERIMENTS.glob("*/check.py")}
    assert code == {2, 31, 32, 38, 39, 42, 46, 47}
    assert not code & {int(name[:2]) for name in experiment_files()}
