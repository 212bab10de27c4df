# SPDX-License-Identifier: Apache-2.0
"""Claims about deadlock freedom and the source-route header; long ones are for `railyard experiments`."""

import xml.etree.ElementTree as ET

import pytest

from lab.frames.header_vectors import HOPS, INSTRUCTIONS, REFUSED, TABLES, Headers, put_every_header
from papers.claims.findings import FindingsCheck
from papers.ub_mesh.claims.tfc import CHECKS
from tests.papers.claim_checks import short


@pytest.fixture(scope="module")
def headers() -> Headers:
    return put_every_header()


@pytest.mark.long("deadlock")
@pytest.mark.parametrize("claim", short(CHECKS), ids=lambda claim: claim.name)
def test_every_finding_holds(claim: FindingsCheck) -> None:
    told: list[tuple[str, float]] = []
    findings = claim.run(lambda what, share: told.append((what, share)))
    assert findings
    assert [finding for finding in findings if finding.verdict != "holds"] == []
    assert told
    assert all(0 <= share <= 1 for _, share in told)
    if claim.picture is not None:
        ET.fromstring(claim.picture())


def test_only_the_ten_million_frames_are_long() -> None:
    assert [claim.name for claim in CHECKS if claim.long] == ["saturation"]


def test_instructions_count_bits_set_before(headers: Headers) -> None:
    assert headers.along([1, 1, 0, 1]) == (0, 1, TABLES, 2)
    assert headers.along([0, 1, 0, 1])[3] == 1
    assert headers.along([1] * 6) == (0, 1, 2, 3, 4, 5)
    assert headers.along([0] * 6 + [1] * 6) == (TABLES,) * 6 + (0, 1, 2, 3, 4, 5)


def test_more_than_six_steered_hops_are_refused(headers: Headers) -> None:
    assert set(headers.along([1] * 7)) == {REFUSED}
    assert headers.drops == {INSTRUCTIONS: 19_032, HOPS: 16_384}
    assert headers.pushed == 8
    assert headers.advanced
