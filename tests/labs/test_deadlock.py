"""Lab 3: the starter, the solutions of the stages and wrong rules, each on drawn meshes."""

from pathlib import Path

import pytest

from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "03_deadlock"

# Wrong answers: the body of next_lane, and the stages that pass nevertheless.
MUTANTS = {
    "the other lane for all": ("return 1", ["kept"]),
    "lane 0 up, lane 1 down": ("return 0 if leaves['up'] else 1", ["kept"]),
    "a lane for each dimension": ("return leaves['dimension']", ["kept"]),
    "all detours forbidden": (
        "if arrives and leaves['dimension'] <= arrives['dimension']:\n        return None\n    return 0",
        ["acyclic", "delivered"],
    ),
    "one lane, up before down": (
        "return None if arrives and leaves['up'] and not arrives['up'] else 0",
        ["acyclic", "delivered"],
    ),
    "a lane for each hop": (
        "if arrives is None:\n        return 0\n    return lane + 1 if lane == 0 else None",
        ["acyclic", "delivered"],
    ),
    "back to lane 0 at a turn down": (
        "if arrives and arrives['up'] != leaves['up']:\n        return int(leaves['up'])\n    return lane",
        ["kept"],
    ),
    "nothing at all": ("return None", []),
    "hosts may not send": ("return None if arrives is None else lane", []),
    "a third lane": ("return 2", []),
    "True for 1": ("return lane == 0", []),
    "lanes by parity": ("return (leaves['dimension'] + leaves['up'] + lane) % 2", ["kept"]),
}


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_the_starter_fails_all_stages_but_the_last(seed: int, tmp_path: Path):
    assert passing(LAB, starter(LAB), tmp_path, seed) == ["kept"]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == ["acyclic", "delivered", "kept"]


def test_the_first_solution_brings_a_student_to_the_last_stage(tmp_path: Path):
    assert passing(LAB, solution(LAB, "acyclic"), tmp_path) == ["acyclic", "delivered"]


def test_counting_turns_from_up_to_down_is_right_as_well(tmp_path: Path):
    peaks = solution(LAB)["rules.py"].replace(
        'leaves["up"] and not arrives["up"]', 'arrives["up"] and not leaves["up"]'
    )
    assert passing(LAB, {"rules.py": peaks}, tmp_path) == ["acyclic", "delivered", "kept"]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_rule_fails(name: str, tmp_path: Path):
    body, stages = MUTANTS[name]
    code = f"def next_lane(arrives, leaves, lane):\n    {body}\n"
    assert passing(LAB, {"rules.py": code}, tmp_path) == stages


def test_a_cycle_is_named_without_the_remedy(tmp_path: Path):
    verdict = verdicts(LAB, starter(LAB), tmp_path)["acyclic"]
    assert "lane 0 -> " in verdict.observed
    assert "lane 1" not in verdict.observed + verdict.look
