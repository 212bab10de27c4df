# SPDX-License-Identifier: Apache-2.0
"""Every claim of every paper can fail: its mutation turns its verdict."""

import pytest

from papers.claims import PAPERS, Check, Kind, checks
from papers.claims.mutations import turns_everywhere

CHECKS = {
    f"{paper}-{check.name}": check for paper in PAPERS for check in checks(paper) if isinstance(check, Check)
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_only_identities_have_no_mutation_and_scaled_values_always_turn(check: Check):
    for claim in check.claims:
        assert (claim.mutation is None) == (claim.kind is Kind.identity), claim.name
        if claim.mutation is not None and not claim.mutation.parameters:
            assert turns_everywhere(claim), claim.name
