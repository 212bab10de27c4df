"""Lab 2: the starter, the solutions of the stages and wrong shares, each on a drawn mesh."""

from pathlib import Path

import pytest

from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "02_all_paths"
PATHS, ONE, SEVERAL = "paths", "one-transfer", "several"

# Wrong answers: a replacement in the solution of a stage, and the stages that pass nevertheless.
MUTANTS = {
    "shortest only": (SEVERAL, "in links:", "in [[source, destination, 1]]:", []),
    "nodes twice": (SEVERAL, "if node not in path]", "if node != path[-1]]", [ONE, SEVERAL]),
    "a hop too few": (SEVERAL, "range(max_hops)", "range(max_hops - 1)", []),
    "one way only": (
        SEVERAL,
        "neighbours.setdefault(b, []).append(a)",
        "neighbours.setdefault(b, [])",
        [ONE],
    ),
    "equal shares": (ONE, "rate / sum(slowest)", "1 / len(every)", [PATHS]),
    "the first link's rate": (
        ONE,
        "min(rates[frozenset(hop)] for hop in zip(path, path[1:]))",
        "rates[frozenset(path[:2])]",
        [PATHS],
    ),
    "all on the fastest path": (
        ONE,
        "rate / sum(slowest)",
        "float(path == every[slowest.index(max(slowest))])",
        [PATHS],
    ),
    "each transfer alone": (
        SEVERAL,
        "        for (_, _, size), own",
        "        carried.clear()\n        for (_, _, size), own",
        [PATHS],
    ),
    "shares that add up to half": (ONE, "rate / sum(slowest)", "rate / sum(slowest) / 2", [PATHS]),
    "no transfer at all": (ONE, "    return answer", "    return [[] for _ in transfers]", [PATHS]),
    "not a number": (ONE, "rate / sum(slowest)", "float('nan')", [PATHS]),
    "a path of its own": (
        ONE,
        "rate / sum(slowest)]",
        "rate / sum(slowest)] if False else [['npu0', 'npu1'], 1.0]",
        [PATHS],
    ),
}


def test_every_draw_has_pairs_whose_wrong_paths_meet_a_node_twice(tmp_path: Path):
    """With this seed, paths that visit a node twice once passed: no pair of three hops had been drawn."""
    files = {
        "routing.py": solution(LAB)["routing.py"].replace("if node not in path]", "if node != path[-1]]")
    }
    assert "is no such path" in verdicts(LAB, files, tmp_path, 677937401)[PATHS].observed


@pytest.mark.parametrize("seed", [1, 3])
def test_the_starter_runs_and_fails_all_stages(seed: int, tmp_path: Path):
    result = verdicts(LAB, starter(LAB), tmp_path, seed)
    assert not any(verdict.passed for verdict in result.values())
    assert "frames arrived" in result[SEVERAL].observed


@pytest.mark.parametrize(
    ("stage", "stages"), [(PATHS, [PATHS]), (ONE, [PATHS, ONE]), (SEVERAL, [PATHS, ONE, SEVERAL])]
)
def test_a_solution_passes_up_to_its_stage(stage: str, stages: list[str], tmp_path: Path):
    assert passing(LAB, solution(LAB, stage), tmp_path) == stages


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 14))
def test_the_solution_passes_whatever_is_drawn(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == [PATHS, ONE, SEVERAL]
    assert passing(LAB, solution(LAB, ONE), tmp_path, seed) == [PATHS, ONE]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_answer_fails(name: str, tmp_path: Path):
    stage, old, new, stages = MUTANTS[name]
    code = solution(LAB, stage)["routing.py"]
    assert old in code
    passed = passing(LAB, {"routing.py": code.replace(old, new)}, tmp_path)
    assert passed == stages
