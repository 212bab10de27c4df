# SPDX-License-Identifier: Apache-2.0
"""Every claim of every paper can fail: its mutation turns its verdict."""

import pytest

from papers.claims import PAPERS, Check, Kind, checks
from papers.claims.mutations import mutated, turns_everywhere

CHECKS = {f"{paper}-{check.name}": check for paper in PAPERS for check in checks(paper)}

QUICK = {
    *(f"ub-mesh-{name}" for name in ("parts", "cables", "cost", "availability", "rack", "dcn", "rings")),
    *(f"ub-mesh-{name}" for name in ("rack-alternatives", "allreduce-balance", "training-traffic")),
    "lumoscore-decomposition",
}
"""Checks that every run of the tests measures and mutates; the others take seconds to minutes."""

SLOW = [name for name in CHECKS if name not in QUICK]


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_only_identities_have_no_mutation_and_changed_values_always_turn(check: Check):
    names = [claim.name for claim in check.claims]
    assert len(set(names)) == len(names)
    for claim in check.claims:
        assert (claim.mutation is None) == (claim.kind is Kind.identity), claim.name
        if claim.mutation is not None and not claim.mutation.parameters:
            assert turns_everywhere(claim), claim.name


@pytest.mark.long(*SLOW)
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_a_mutation_turns_the_verdict_of_its_claim(check: Check):
    told: list[float] = []
    turns = mutated(check, lambda what, share: told.append(share))
    assert [turn.row.claim.name for turn in turns if not turn.turned] == []
    assert all(0 <= share <= 1 for share in told)


def test_all_quick_checks_are_there():
    assert set(CHECKS) >= QUICK
