# SPDX-License-Identifier: Apache-2.0
"""The tests that p4testgen generated from our programs: all of them on the engine, some of them on BMv2."""

from pathlib import Path

import pytest

from tests.differential.stf.run import run_all
from tests.differential.testgen import FOLDER, PROGRAMS, cases

FILES = sorted(FOLDER.glob("*.stf"))
_ON_BMV2 = 8


def test_every_program_has_tests() -> None:
    assert {file.stem for file in FILES} == PROGRAMS.keys()


@pytest.mark.long("ub_switch", "rail_gpu")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_generated_on_the_engine(file: Path, tmp_path: Path) -> None:
    failed = {case.name: why for case, why in run_all(cases(file, tmp_path), "engine", jobs=1) if why}
    assert failed == {}


@pytest.mark.bmv2(cli=True)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_generated_on_bmv2(file: Path, tmp_path: Path) -> None:
    all_cases = cases(file, tmp_path)
    some = all_cases[:: max(1, len(all_cases) // _ON_BMV2)][:_ON_BMV2]
    failed = {case.name: why for case, why in run_all(some, "BMv2", jobs=4) if why}
    assert failed == {}
