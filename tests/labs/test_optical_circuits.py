"""Lab 6: the starter, the solutions of the stages and wrong planners, on drawn changes of circuits."""

import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.lessons.catalogue import find_lab
from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "06_optical_circuits"
EVERY = ["serve", "budget", "light"]

RETURNED = 'return {"circuits": circuits or standing, "times_us": {"leave": leave, "turn": turn, "use": use}}'

# Changes of the solution, and the stages that pass nevertheless.
MUTANTS = {
    "all circuits torn down": (RETURNED, RETURNED.replace("circuits or standing", "[[-1] * 5] * 3"), []),
    "a constant answer": (
        RETURNED,
        RETURNED.replace("circuits or standing", "[[1, 2, 3, 4, 0], [2, 3, 4, 0, 1], [3, 4, 0, 1, 2]]"),
        [],
    ),
    "all circuits rebuilt": (
        'search(standing, [list(row) for row in standing], wanted, problem["budget"])',
        "search([[-1] * 5] * 3, [[-1] * 5] * 3, wanted, sum(wanted.values()) + 3)",
        ["serve"],
    ),
    "mirrors turn at once": ('turn = 0.0, problem["drain_us"]', "turn = 0.0, 0.0", ["serve", "budget"]),
    "routes leave after the turn": ("leave, turn = 0.0,", "leave, turn = 100.0,", []),
    "routes leave when mirrors turn": (
        'leave, turn = 0.0, problem["drain_us"]',
        "leave, turn = 5.0, 5.0",
        ["serve", "budget"],
    ),
    "new circuits used in the dark": (
        '+ problem["reconfiguration_us"] + 1.0',
        "",
        ["serve", "budget"],
    ),
    "times of the example": (
        "turn = 0.0,",
        'turn = 0.0, 4.0\n    problem["reconfiguration_us"] = 20.0\n    _ =',
        ["serve", "budget"],
    ),
    "a change that never ends": (
        '["reconfiguration_us"] + 1.0',
        '["reconfiguration_us"] + 50.0',
        ["serve", "budget"],
    ),
    "no budget": ('wanted, problem["budget"])', "wanted, 15)", ["serve"]),
}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_starter_fails_all_stages(seed: int, tmp_path: Path):
    assert passing(LAB, starter(LAB), tmp_path, seed) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == EVERY


@pytest.mark.parametrize(("stage", "stages"), [("serve", ["serve"]), ("budget", ["serve", "budget"])])
def test_the_solution_of_a_stage_passes_until_it(stage: str, stages: list[str], tmp_path: Path):
    assert passing(LAB, solution(LAB, stage), tmp_path) == stages


LONG = ("times of the example", "a change that never ends", "routes leave when mirrors turn")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in MUTANTS]
)
def test_a_wrong_planner_fails(name: str, tmp_path: Path):
    old, new, stages = MUTANTS[name]
    code = solution(LAB)["planner.py"]
    assert code.count(old) == 1
    assert passing(LAB, {"planner.py": code.replace(old, new)}, tmp_path) == stages


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("[1, 2]", "has no circuits and times_us"),
        ('{"circuits": [[0] * 5] * 3, "times_us": {}}', "circuits[0][0] is 0"),
        ('{"circuits": [[1, 2, 1, -1, -1]] * 3, "times_us": {}}', "joins the odd port of Pod 1 twice"),
        ('{"circuits": problem["standing"], "times_us": {"leave": 0}}', "times_us is"),
        ('{"circuits": [[True] * 5] * 3, "times_us": {}}', "circuits[0][0] is True"),
    ],
)
def test_an_answer_of_another_form_is_named(answer: str, words: str, tmp_path: Path):
    verdict = verdicts(LAB, {"planner.py": f"def plan(problem):\n    return {answer}\n"}, tmp_path)["serve"]
    assert not verdict.passed
    assert words in verdict.observed


def test_drawn_changes_need_moves_and_can_be_made():
    check: dict[str, Any] = runpy.run_path(str(find_lab(LAB).folder / "check.py"), run_name="check")
    random = Random(1)
    for _ in range(50):
        problem = check["draw_problem"](random)
        before: Counter[tuple[int, int]] = check["count"](problem.standing)
        assert any(not before[pair] for pair in problem.wanted)
        assert 1 <= problem.budget <= 4
        ports = [sum(row) for row in problem.demand]
        assert max(ports) <= 2 * check["PAIRS"]


def test_try_it_prints_the_example(tmp_path: Path):
    for path in find_lab(LAB).starter.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = subprocess.run(
        [sys.executable, "try_it.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "too few" not in done.stdout.splitlines()[0]
    assert "0 circuits set up, budget 2" in done.stdout
