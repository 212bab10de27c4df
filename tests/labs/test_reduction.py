"""Lab 9: the starter, the solutions and wrong slots, compiled by p4c, between workers and a bad network."""

import shutil
from pathlib import Path

import pytest

from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "09_reduction"
SUMS, REPEATED, LOST, LATE = "sums", "repeated", "lost", "late"

needs_p4c = pytest.mark.skipif(
    shutil.which("p4c-bm2-ss") is None,
    reason="p4c-bm2-ss is not on the PATH: install the package p4lang-p4c",
)

BITS = "have = have | meta.own;"
ADD = "add.apply(sum, hdr.sum.values);"
BACK = "std.egress_spec = std.ingress_port;"
REFUSE = "if (hdr.sum.block < block) {"
MISSING = "if (have != meta.all) {"

# Wrong answers: a replacement in the last solution, and the stages that pass nevertheless.
MUTANTS = {
    "adds twice": ("bool again = have & meta.own != 0;", "bool again = false;", [SUMS]),
    "forgets the bitmap": ("            workers.write(at, have);\n", "", []),
    "counts in place of bits": (BITS, "have = (have << 1) | 1;", []),
    "frees a slot early": (
        "hdr.sum.kind = RESULT;",
        "hdr.sum.kind = RESULT;\n        workers.write(at, 0);\n        blocks.write(at, 0);",
        [SUMS, REPEATED],
    ),
    "no second version": ("hdr.sum.block & 7", "hdr.sum.block & 3", [SUMS, REPEATED]),
    "drops who asks again": (BACK, "mark_to_drop(std);\n            exit;", [SUMS, REPEATED]),
    "answers all of them again": (BACK, "std.mcast_grp = EVERY_WORKER;", [SUMS, REPEATED]),
    "answers before the sum is complete": (MISSING, "if (!again && have != meta.all) {", [SUMS]),
    "late frames are not refused": (REFUSE, "if (false) {", [SUMS, REPEATED, LOST]),
    "late frames overwrite the number": (
        REFUSE,
        "blocks.write(at, hdr.sum.block);\n        if (hdr.sum.block < block) {",
        [SUMS, REPEATED, LOST],
    ),
    "the bits of the block before": ("have = 0;\n            sum = 0;", "sum = 0;", []),
    "the sum of the block before": ("have = 0;\n            sum = 0;", "have = 0;", []),
    "the last frame in place of the sum": ("        hdr.sum.values = sum;\n", "", []),
    "a frame of the worker's kind": ("        hdr.sum.kind = RESULT;\n", "", []),
    "a sum that misses the last frame": (
        f"            {ADD}\n            {BITS}",
        f"            {BITS}\n            if (have != meta.all) {{\n                {ADD}\n            }}",
        [],
    ),
    "only the asker gets the sum": ("std.mcast_grp = EVERY_WORKER;", BACK, []),
    "no P4": ("control Slot", "ctrl Slot", []),
}  # fmt: skip
SHORT = (
    "adds twice",
    "forgets the bitmap",
    "frees a slot early",
    "no second version",
    "late frames are not refused",
)


@pytest.fixture
def no_p4c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no program on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.mark.usefixtures("no_p4c")
def test_the_starter_passes_its_first_stage_alone_and_needs_no_p4c(tmp_path: Path):
    result = verdicts(LAB, starter(LAB), tmp_path)
    assert all(verdict.checked for verdict in result.values())
    assert [name for name, verdict in result.items() if verdict.passed] == [SUMS]
    assert "a second copy of worker" in result[REPEATED].observed
    assert "block" in result[LATE].observed


@needs_p4c
def test_the_shipped_starter_is_what_p4c_makes_of_it(tmp_path: Path):
    shipped = verdicts(LAB, starter(LAB), tmp_path)
    code = starter(LAB)["slot.p4"] + "// changed\n"
    assert verdicts(LAB, {"slot.p4": code}, tmp_path) == shipped


@needs_p4c
@pytest.mark.parametrize(
    ("stage", "stages"),
    [
        (SUMS, [SUMS]),
        (REPEATED, [SUMS, REPEATED]),
        (LOST, [SUMS, REPEATED, LOST]),
        (LATE, [SUMS, REPEATED, LOST, LATE]),
    ],
)
def test_a_solution_passes_up_to_its_stage(stage: str, stages: list[str], tmp_path: Path):
    assert passing(LAB, solution(LAB, stage), tmp_path) == stages


@needs_p4c
@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 8))
def test_the_last_solution_passes_with_other_seeds(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == [SUMS, REPEATED, LOST, LATE]


@needs_p4c
@pytest.mark.long(*[name for name in MUTANTS if name not in SHORT])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_slot_fails(name: str, tmp_path: Path):
    old, new, stages = MUTANTS[name]
    code = solution(LAB)["slot.p4"]
    assert old in code
    assert passing(LAB, {"slot.p4": code.replace(old, new)}, tmp_path) == stages
