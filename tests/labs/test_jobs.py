"""Lab 8: the starter, the solutions of the stages and wrong schedulers, on drawn sets of jobs."""

import runpy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.lessons import checker
from harness.lessons.attempt import StudentError
from harness.lessons.catalogue import find_lab
from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "08_jobs"
EVERY = ["work", "fair", "best", "frames"]


@cache
def check() -> dict[str, Any]:
    return runpy.run_path(str(find_lab(LAB).folder / "check.py"), run_name="check")


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {}

    def call(*arguments: Any) -> Any:
        key = repr(arguments)
        if key not in known:
            known[key] = function(*arguments)
        return known[key]

    return call


@pytest.fixture(scope="module", autouse=True)
def same_draws() -> Iterator[None]:
    """Keep the results of simulations for all tests of this module: most of them simulate the same jobs."""
    module = checker._load(find_lab(LAB).folder / "check.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "_load", lambda _: module)
        for name in ("simulate", "_run"):
            patch.setattr(module, name, remembered(getattr(module, name)))
        yield


def table_of_known_sets() -> str:
    """A scheduler that knows the best levels of the sets of another seed, by their numbers of GPUs."""
    random = Random("2 sets")
    known = {}
    for _ in range(6):
        drawn = check()["draw_set"](random)
        known[tuple(job.compute_us for job in drawn.jobs)] = [3, 2, 1, 0]
    return (
        f"KNOWN = {known!r}\ndef levels(jobs, number_of_levels):\n"
        "    order = KNOWN.get(tuple(job['compute_us'] for job in jobs), range(len(jobs)))\n"
        "    return {job['name']: min(n, number_of_levels - 1) for job, n in zip(jobs, order)}\n"
    )


def by(key: str) -> str:
    """A scheduler that sorts jobs by an expression, smallest first."""
    return (
        "def levels(jobs, number_of_levels):\n"
        f"    order = sorted(jobs, key=lambda job: {key})\n"
        "    return {job['name']: min(n, number_of_levels - 1) for n, job in enumerate(order)}\n"
    )


def returns(answer: str) -> str:
    return f"def levels(jobs, number_of_levels):\n    return {answer}\n"


# Wrong schedulers, and the stages that pass nevertheless.
MUTANTS = {
    "one level for all": (returns("{job['name']: 0 for job in jobs}"), []),
    "a constant answer": (returns("{'job0': 1, 'job1': 0, 'job2': 2, 'job3': 0}"), []),
    "last come first served": (by("-jobs.index(job)"), []),
    "least intensive first": (by("job['gpus'] * job['compute_us'] / max(job['sends_us'].values())"), []),
    "a table of known sets": (None, []),
    "fewest GPUs first": (by("job['gpus']"), []),
    "intensity alone": (
        by("-job['gpus'] * job['compute_us'] / max(job['sends_us'].values())"),
        ["work", "frames"],
    ),
}
LONG = ("fewest GPUs first", "last come first served", "least intensive first")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_starter_fails_all_stages(seed: int, tmp_path: Path):
    assert passing(LAB, starter(LAB), tmp_path, seed) == []


@pytest.mark.parametrize("seed", [1, pytest.param(3, marks=pytest.mark.long)])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == EVERY


@pytest.mark.long
def test_the_first_solution_starves_a_job(tmp_path: Path):
    assert passing(LAB, solution(LAB, "work"), tmp_path) == ["work", "frames"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in MUTANTS]
)
def test_a_wrong_scheduler_fails(name: str, tmp_path: Path):
    code, stages = MUTANTS[name]
    results = verdicts(LAB, {"scheduler.py": code or table_of_known_sets()}, tmp_path)
    assert [stage for stage, verdict in results.items() if verdict.passed] == stages
    if "work" in stages:
        assert "a job starves in" in results["fair"].observed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0, 1], "returned [0, 1]"),
        ({"job0": 3, "job1": 0}, "gave job0 the level 3"),
        ({"job0": True, "job1": 0}, "gave job0 the level True"),
        ({"job0": 0}, "returned {'job0': 0}"),
    ],
)
def test_an_answer_of_another_form_is_named(answer: object, words: str):
    jobs = check()["draw_set"](Random(3)).jobs[:2]
    with pytest.raises(StudentError) as refused:
        check()["_levels"](jobs, answer)
    assert words in refused.value.observed


def test_levels_count_by_their_order_alone():
    drawn = check()["draw_set"](Random(4))
    assert drawn.work([0, 2, 2, 0]) == drawn.work([0, 1, 1, 0])
    assert drawn.best.total == max(
        drawn.work(levels).total
        for levels in check()["product"](range(3), repeat=4)
        if drawn.work(levels).least >= check()["STARVED"]
    )
    assert drawn.first_come.total < drawn.best.total
