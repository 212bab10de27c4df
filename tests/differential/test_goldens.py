# SPDX-License-Identifier: Apache-2.0
"""The engine repeats BMv2's outputs for seeded frames through our own programs."""

import pytest

from tests.differential.goldens import FOLDER, NAMES, program
from tests.differential.stf.run import Case, differences

CASES = [Case(stf, program(stf.stem)) for stf in sorted(FOLDER.glob("*.stf"))]


def test_there_are_goldens() -> None:
    assert {case.name for case in CASES} == NAMES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_engine(case: Case) -> None:
    assert differences(case, "engine") == []


@pytest.mark.bmv2(cli=True)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bmv2(case: Case) -> None:
    assert differences(case, "BMv2") == []
