# SPDX-License-Identifier: Apache-2.0
"""Jobs that compute and send in turns, and whose data links serve in classes."""

from collections.abc import Callable
from pathlib import Path

import pytest

import harness.run.observation.collect
from emulation.traffic.host.iterations import input_of
from harness.errors import ScenarioError
from harness.report.page import report_html
from harness.report.results import conclude
from harness.run.observation.values import JobReport, Observation
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load

Write = Callable[[str], Path]

# Leaves of two domains, with a job on each of the two: their flows meet on the leaves' only uplink.
HEAD = """\
name: small
topology: {name: rail-only, domains: 8, hb_size: 2, radix: 4, uplinks: 1, spines: 1}
routing: {strategy: shortest, peers: job}
link: {credit_bytes: 131072}
collective: {kind: allreduce, algorithm: direct, elements: 32768, payload_bytes: 4096}
"""
FIRST = "{name: first, iterations: 4, compute_us: 10, collective: {members: [gpu0, gpu1, gpu4, gpu5]}%s}"
OTHER = (
    "{name: other, iterations: 4, compute_us: 1, "
    "collective: {elements: 98304, members: [gpu2, gpu3, gpu6, gpu7]}%s}"
)


def prepared(write: Write, *jobs: str, more: str = "") -> Prepared:
    return prepare(*load(write(f"{HEAD}jobs: [{', '.join(jobs)}]\n{more}")))[0]


def mean_ps(job: JobReport) -> float:
    return sum(job.lengths_ps) / len(job.lengths_ps)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Observation]:
    def write(text: str) -> Path:
        path = tmp_path_factory.mktemp("runs") / "scenario.yaml"
        path.write_text(text)
        return path

    return {
        "alone": observe(prepared(write, FIRST % ""), 1),
        "one": observe(prepared(write, FIRST % "", OTHER % ""), 1),
        "two": observe(prepared(write, FIRST % ", priority: 0", OTHER % ", priority: 3"), 1),
        "crux": observe(prepared(write, FIRST % "", OTHER % "", more="control: {scheduler: crux}"), 1),
    }


def test_a_job_that_goes_first_does_not_feel_the_other_and_that_one_ends(runs: dict[str, Observation]):
    alone, item, two = (mean_ps(runs[name].jobs[0]) for name in ("alone", "one", "two"))
    assert two <= 1.02 * alone
    assert item >= 1.1 * alone
    assert all(job.correct_nodes == job.nodes == 4 for seen in runs.values() for job in seen.jobs)
    assert [len(job.iterations) for job in runs["two"].jobs] == [4, 4]


def test_crux_measures_jobs_one_by_one_and_puts_the_more_intensive_first(runs: dict[str, Observation]):
    first, other = runs["crux"].jobs
    assert other.begun_ps == first.iterations[0].end_ps
    assert 0 < first.priority < other.priority
    assert mean_ps(first) < mean_ps(runs["one"].jobs[0])


def test_iterations_follow_one_another_and_add_up(runs: dict[str, Observation]):
    for job in runs["one"].jobs:
        assert sum(job.lengths_ps) == job.completion_ps
        assert all(
            iteration.begun_ps + job.compute_ps <= iteration.send_ps + 1 for iteration in job.iterations
        )
        assert all(
            iteration.begun_ps < iteration.send_ps < iteration.sent_ps <= iteration.end_ps
            for iteration in job.iterations
        )


def test_an_array_that_was_wrong_once_is_found(write: Write, monkeypatch: pytest.MonkeyPatch):
    """Its last iteration is right, the second is compared with another's inputs."""
    monkeypatch.setattr(
        harness.run.observation.collect,
        "input_of",
        lambda data, number: input_of(data, number + (number == 1)),
    )
    seen = observe(prepared(write, FIRST % ""), 1)
    assert seen.correct_nodes == 0
    assert seen.first_wrong.startswith("rank 0 in iteration 1")


def test_their_figures_and_their_picture(write: Write):
    text = (
        f"{HEAD}horizon_us: 15\njobs: [{FIRST % ', overlap: 1'}]\nassertions:\n"
        "  - {metric: run.work_percent, equals: 100}\n"
        "  - {metric: run.first.iteration_us, equals: 10}\n"
    )
    scenario, document = load(write(text))
    ready = prepare(scenario, document)
    done = run(ready, 1)
    result = conclude(scenario, 1, "embedded", done.runs)
    assert result.passed
    page = report_html(scenario, result, ready[0].fabric, done.runs, "railyard run")
    assert page.count('class="computes"') == page.count('class="sends"') == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{HEAD}jobs: [{FIRST % ', priority: 7'}]", r"jobs\[0\]\.priority"),
        (f"{HEAD}jobs: [{FIRST % ', overlap: 2'}]", r"jobs\[0\]\.overlap"),
        (f"{HEAD}control: {{scheduler: crux}}", "job job has 1 iterations of 0 us"),
        (
            f"{HEAD}control: {{scheduler: crux}}\njobs: [{FIRST % ', priority: 1'}]",
            "has `priority: 1`, but the scheduler crux",
        ),
        (
            f"{HEAD.replace('}', ', spares: 1}', 1)}jobs: [{FIRST % ''}]",
            "has spares: .*, which a job of several iterations cannot do",
        ),
    ],
)
def test_what_cannot_be_together_is_refused(write: Write, text: str, why: str):
    with pytest.raises(ScenarioError, match=why):
        prepare(*load(write(text)))
