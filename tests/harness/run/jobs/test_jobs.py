# SPDX-License-Identifier: Apache-2.0
"""Several jobs in one run: each on members of its own, begun at its time, right by itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.report.results import conclude
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load
from topologies import RailyardError

Write = Callable[[str], Path]

HEAD = """\
name: small
topology: {name: rail-only, domains: 4, hb_size: 2}
routing: {strategy: shortest, peers: job}
collective: {kind: all-gather, elements: 8192, payload_bytes: 1024}
"""
FIRST = "{name: first, collective: {members: 4}}"
LATER = (
    "{name: later, at_us: 30, collective: {kind: all-to-all, algorithm: direct, members: [gpu4..gpu7], "
    "dtype: float32, payload_bytes: 512}}"
)


def prepared(write: Write, jobs: str) -> Prepared:
    return prepare(*load(write(f"{HEAD}jobs: [{jobs}]\n")))[0]


def test_each_begins_at_its_time_and_is_right(write: Write):
    seen = observe(prepared(write, f"{FIRST}, {LATER}"), 1)
    first, later = seen.jobs
    assert (first.name, first.begun_ps, first.nodes, first.correct_nodes) == ("first", 0, 4, 4)
    assert (later.name, later.begun_ps, later.nodes, later.correct_nodes) == ("later", 30_000_000, 4, 4)
    assert later.completion_ps > later.bound_ps
    assert first.completion_ps < later.begun_ps
    assert seen.completion_ps == later.begun_ps + later.completion_ps
    assert (seen.nodes, seen.correct_nodes, seen.first_wrong) == (8, 8, "")


def test_jobs_that_share_no_link_do_not_feel_each_other(write: Write):
    """Two domains each: their rails' switch is common, their links are not."""
    alone = observe(prepared(write, FIRST), 1).jobs[0]
    both = observe(prepared(write, f"{FIRST}, {LATER.replace('at_us: 30, ', '')}"), 1).jobs[0]
    assert both.completion_ps == alone.completion_ps


def test_a_job_of_its_own_is_as_one_without_name(write: Write):
    (plain,) = prepare(*load(write(HEAD)))
    named = prepared(write, "{name: all}")
    item, other = observe(plain, 5), observe(named, 5)
    assert item.jobs == ()
    assert (item.completion_ps, item.checksum, item.link_bytes) == (
        other.completion_ps,
        other.checksum,
        other.link_bytes,
    )


def test_their_figures_have_their_names_and_can_be_asserted(write: Write):
    text = (
        f"{HEAD}jobs: [{FIRST}, {LATER}]\nassertions:\n"
        "  - {metric: run.later.completion_us, max: {metric: run.first.completion_us, times: 1000}}\n"
    )
    scenario, document = load(write(text))
    done = run(prepare(scenario, document), 1)
    result = conclude(scenario, 1, "embedded", done.runs)
    assert result.passed
    assert result.of("run", "first.correct_npus") == 4
    assert result.of("run", "later.start_us") == 30
    with pytest.raises(ScenarioError, match=r"run\.latter\.completion_us"):
        load(write(text.replace("run.later.", "run.latter.")))


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        (
            f"{FIRST}, {{name: b, iterations: 2, collective: {{algorithm: direct, members: [gpu3, gpu4]}}}}",
            "gpu3 is also a member of job 'first', and a job with iterations cannot share",
        ),
        (f"{FIRST}, {FIRST}", "two jobs of variant 'run' have the same name"),
        ("{name: first, collective: {elements: none}}", "jobs[0].collective.elements"),
        ("{name: first, at_us: -1}", "jobs[0].at_us"),
        ("", "jobs"),
    ],
)
def test_jobs_that_cannot_be(write: Write, jobs: str, why: str):
    with pytest.raises(RailyardError) as caught:
        prepared(write, jobs)
    assert why in str(caught.value)
    assert "scenario.yaml:5" in str(caught.value)


def test_spares_serve_one_job(write: Write):
    path = write(
        "name: small\ntopology: {name: ub-rack-lrs}\nrouting: {peers: job}\n"
        "collective: {kind: all-gather, elements: 4096}\n"
        "jobs: [{name: one, collective: {members: 8}}, {name: two, collective: {members: [npu8..npu15]}}]\n"
    )
    with pytest.raises(ScenarioError, match="has spares: a takeover restarts the whole run"):
        prepare(*load(path))
