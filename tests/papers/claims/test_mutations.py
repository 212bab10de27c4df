# SPDX-License-Identifier: Apache-2.0
"""Every claim that comes with Railyard can fail: its mutation turns its verdict."""

import pytest

from papers.claims import Check, Kind, named_claims, read_claims
from papers.claims.mutations import turns_everywhere
from tests.papers.checks import turns_of

FILES = named_claims()
CHECKS = {f"{name}-{check.name}": check for name, path in FILES.items() for check in read_claims(path).checks}

QUICK = {
    *(f"ub-mesh-{name}" for name in ("parts", "cables", "cost", "availability", "rack", "dcn", "rings")),
    *(f"ub-mesh-{name}" for name in ("rack-alternatives", "allreduce-balance", "training-traffic")),
    "lumoscore-decomposition",
}
"""Checks that every run of the tests measures and mutates; the others take seconds to minutes."""

SLOW = [name for name in CHECKS if name not in QUICK]


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_names_exists(name: str):
    file = read_claims(FILES[name])
    file.examine(file.checks)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_only_identities_have_no_mutation_and_changed_values_always_turn(check: Check):
    for claim in check.claims:
        assert claim.mutation is not None or claim.kind is Kind.identity, claim.name
        if claim.mutation is not None and not claim.mutation.parameters:
            assert turns_everywhere(claim), claim.name


@pytest.mark.long(*SLOW)
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_a_mutation_turns_the_verdict_of_its_claim(check: Check):
    turns = turns_of(check)
    assert [turn.row.claim.name for turn in turns if not turn.turned] == []


def test_all_quick_checks_are_there():
    assert set(CHECKS) >= QUICK
