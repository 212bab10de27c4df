"""Lab 1: the starter, the solutions and wrong controls, compiled by p4c and run hop by hop."""

import shutil
from pathlib import Path

import pytest

from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "01_source_route"
STEERED, MIXED, MALFORMED = "steered", "mixed", "malformed"

needs_p4c = pytest.mark.skipif(
    shutil.which("p4c-bm2-ss") is None,
    reason="p4c-bm2-ss is not on the PATH: install the package p4lang-p4c",
)

BEFORE = "hdr.srh.bitmap & ~(12w0xFFF >> hdr.srh.ptr)"

# Wrong answers: a replacement in the last solution, and the stages that pass nevertheless.
MUTANTS = {
    "ptr as number of the instruction": ("(bit<8>)before << 3", "(bit<8>)hdr.srh.ptr << 3", [STEERED]),
    "ptr advanced by instructions alone": (
        "meta.decided = true;\n            }\n            hdr.srh.ptr = hdr.srh.ptr + 1;",
        "meta.decided = true;\n            hdr.srh.ptr = hdr.srh.ptr + 1;\n            }",
        [STEERED],
    ),
    "its own bit counted": (BEFORE, "hdr.srh.bitmap & ~(12w0x7FF >> hdr.srh.ptr)", []),
    "bits behind counted": (BEFORE, "hdr.srh.bitmap & (12w0x7FF >> hdr.srh.ptr)", []),
    "bitmap from the right": ("12w0x800 >> hdr.srh.ptr", "12w1 << hdr.srh.ptr", []),
    "every port a constant": ("(hdr.srh.instr >> shift)[7:0]", "8w1", []),
    "a thirteenth hop": ("hdr.srh.ptr > 11", "hdr.srh.ptr > 12", [STEERED, MIXED]),
    "a seventh instruction": ("instructions > 6", "instructions > 7", [STEERED, MIXED]),
    "six instructions refused": ("instructions > 6", "instructions > 5", []),
    "the last hop refused": ("hdr.srh.ptr > 11", "hdr.srh.ptr > 10", [STEERED, MIXED]),
    "everything dropped": ("hdr.srh.ptr > 11 ||", "true ||", []),
    "no exit": ("                exit;\n", "", [STEERED, MIXED]),
    "sent around for ever": (
        "if (hdr.srh.isValid()) {",
        "if (hdr.srh.isValid()) {\n            resubmit_preserving_field_list(0);",
        [],
    ),
    "no P4": ("control SourceRoute", "ctrl SourceRoute", []),
}
SHORT = ("ptr as number of the instruction", "a seventh instruction", "sent around for ever", "no P4")


@pytest.fixture
def no_p4c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no program on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.mark.usefixtures("no_p4c")
def test_the_starter_passes_its_first_stage_alone_and_needs_no_p4c(tmp_path: Path):
    result = verdicts(LAB, starter(LAB), tmp_path)
    assert all(verdict.checked for verdict in result.values())
    assert [name for name, verdict in result.items() if verdict.passed] == [STEERED]
    assert "ptr is" in result[MIXED].observed
    assert "should be dropped" in result[MALFORMED].observed


@needs_p4c
def test_the_shipped_starter_is_what_p4c_makes_of_it(tmp_path: Path):
    shipped = verdicts(LAB, starter(LAB), tmp_path)
    code = starter(LAB)["source_route.p4"] + "// changed\n"
    assert verdicts(LAB, {"source_route.p4": code}, tmp_path) == shipped


@pytest.mark.usefixtures("no_p4c")
def test_a_changed_control_is_not_checked_without_p4c(tmp_path: Path):
    result = verdicts(LAB, solution(LAB), tmp_path)
    assert not any(verdict.checked or verdict.passed for verdict in result.values())
    assert result[MIXED].observed.startswith("not checked: a changed source_route.p4 needs p4c-bm2-ss")
    assert "p4lang-p4c" in result[MIXED].look


@needs_p4c
@pytest.mark.parametrize(
    ("stage", "stages"),
    [(STEERED, [STEERED]), (MIXED, [STEERED, MIXED]), (MALFORMED, [STEERED, MIXED, MALFORMED])],
)
def test_a_solution_passes_up_to_its_stage(stage: str, stages: list[str], tmp_path: Path):
    assert passing(LAB, solution(LAB, stage), tmp_path) == stages


@needs_p4c
@pytest.mark.long(*[name for name in MUTANTS if name not in SHORT])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_control_fails(name: str, tmp_path: Path):
    old, new, stages = MUTANTS[name]
    code = solution(LAB)["source_route.p4"]
    assert old in code
    assert passing(LAB, {"source_route.p4": code.replace(old, new)}, tmp_path) == stages


@needs_p4c
def test_an_error_of_the_compiler_is_named_with_its_line(tmp_path: Path):
    code = solution(LAB)["source_route.p4"].replace("hdr.srh.ptr + 1;", "hdr.srh.pointer + 1;")
    verdict = verdicts(LAB, {"source_route.p4": code}, tmp_path)[STEERED]
    assert verdict.observed.startswith("p4c reports source_route.p4(")
    assert "pointer" in verdict.observed
