# SPDX-License-Identifier: Apache-2.0
import pytest

from papers.claims.findings import FindingsCheck
from papers.ub_mesh.claims.topology import CHECKS
from tests.papers.claim_checks import short


@pytest.mark.parametrize("claim", short(CHECKS), ids=lambda claim: claim.name)
def test_what_is_counted_is_what_the_paper_says(claim: FindingsCheck) -> None:
    notes: list[float] = []
    findings = claim.run(lambda _, share: notes.append(share))
    assert findings
    assert notes == sorted(notes)
    assert not any(finding.fails for finding in findings)
    # Every figure that is not the paper's says whose it is, or why it differs.
    for finding in findings:
        assert finding.ours
        assert finding.reason or finding.paper != "-" or finding.verdict == "not judged"


def test_the_one_known_difference_is_the_number_of_lrs() -> None:
    result = next(claim for claim in CHECKS if claim.name == "rack").run(lambda *_: None)
    (known,) = (finding for finding in result if finding.verdict == "differs")
    assert (known.claim, known.paper, known.ours, known.known) == ("LRS of a rack", "48", "72", True)
