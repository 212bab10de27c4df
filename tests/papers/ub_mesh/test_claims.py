# SPDX-License-Identifier: Apache-2.0
"""Foundations of UB-Mesh's claims: source-route headers, and verdicts on the paper's figures."""

import xml.etree.ElementTree as ET

import pytest

from harness.frames.header_vectors import HOPS, INSTRUCTIONS, REFUSED, TABLES, Headers, put_every_header
from papers.claims import Kind, rows_of
from papers.ub_mesh.figures.tfc import stopped_picture
from tests.papers.checks import checks

BY_NAME = checks("ub-mesh")
SPARES = ("spare-each-npu", "spare-each-switch")


@pytest.fixture(scope="module")
def headers() -> Headers:
    return put_every_header()


def test_long_checks_take_minutes_and_no_others():
    long = {name for name, check in BY_NAME.items() if check.long}
    assert long == {"recovery-pod", "pod-run", "superpod-plan", "saturation", *SPARES}


def test_the_known_difference_of_lrs_is_a_difference_and_the_other_parts_hold():
    rows = rows_of(BY_NAME["parts"])
    assert [row.claim.name for row in rows if row.verdict != "holds"] == ["lrs-rack"]
    assert {row.claim.kind for row in rows} == {Kind.stated, Kind.derived, Kind.fitted, Kind.identity}


def test_the_picture_of_a_deadlock_is_svg():
    ET.fromstring(stopped_picture())


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
