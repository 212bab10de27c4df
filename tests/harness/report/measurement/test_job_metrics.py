# SPDX-License-Identifier: Apache-2.0
"""Losses of jobs by faults, beside the variant without faults: in Python, on the terminal and in files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import railyard

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

GRAPH = """\
import networkx as nx


def make():
    graph = nx.Graph(name="two-tors", rate_gbps=400)
    graph.add_node("tor0", kind="switch")
    graph.add_node("tor1", kind="switch")
    graph.add_edges_from([("gpu0", "tor0"), ("gpu1", "tor0"), ("gpu2", "tor1"), ("gpu3", "tor1")])
    graph.add_edge("tor0", "tor1")
    return graph
"""
TEXT = """\
name: tors
topology: {python: "graph.py:make"}
collective: {elements: 16384, payload_bytes: 1024}
link: {detect_us: 0.1}
control: {processing_us: 0.1}
transport: {initial_rto_us: 5, min_rto_us: 3}
jobs:
  - {name: near, collective: {members: [gpu0, gpu1]}}
  - {name: rack, collective: {members: [gpu2, gpu3]}}
variants:
  - {name: other, transport: {window: 8}}
  - {name: healthy}
  - {name: slow, faults: [{at_us: 0.1, link: tor0-gpu0, event: rate, percent: 25}]}
  - {name: cut, expect: halt, faults: [{at_us: 0.1, npu: gpu0}]}
  - {name: strict, routing: {strategy: shortest}, faults: [{at_us: 0.1, link: tor0-tor1}]}
"""


@pytest.fixture
def scenario(write: Write) -> Path:
    path = write(TEXT)
    (path.parent / "graph.py").write_text(GRAPH)
    return path


def test_a_job_is_compared_with_the_variant_that_differs_in_its_faults_alone(scenario: Path):
    result = railyard.run(scenario)
    jobs = {(job["variant"], job["job"]): job for job in result.jobs()}
    assert jobs["slow", "near"]["reference"] == "healthy"
    assert jobs["slow", "near"]["reference_us"] == result.metric("healthy", "near.completion_us")
    assert jobs["slow", "near"]["slowdown"] > 2
    assert (jobs["slow", "rack"]["slowdown"], jobs["slow", "rack"]["halted"]) == (1, False)
    assert (jobs["cut", "near"]["completion_us"], jobs["cut", "near"]["halted"]) == (None, True)
    assert jobs["cut", "near"]["slowdown"] is None
    # A variant without faults, and one with other settings than every variant without faults.
    assert {jobs[name, "near"]["reference"] for name in ("healthy", "strict")} == {""}
    assert [job["job"] for job in result.jobs("cut")] == ["near", "rack"]
    with pytest.raises(railyard.RailyardError, match="no variant named 'none' ran"):
        result.jobs("none")
    reach = {row["variant"]: (row["halted_jobs"], row["slower_jobs"]) for row in result.blast_radius()}
    assert reach == {"slow": (0, 1), "cut": (1, 0), "strict": (0, 0)}


def test_a_single_job_has_a_row_as_well(scenario: Path):
    text = scenario.read_text()
    jobs = text[text.index("jobs:") : text.index("variants:")]
    scenario.write_text(text.replace(jobs, ""))
    result = railyard.run(scenario, variant="healthy")
    (job,) = result.jobs()
    assert (job["job"], job["completion_us"]) == ("job", result.metric("healthy", "completion_us"))


def test_the_command_says_which_jobs_lose_and_never_the_time_of_a_halt(
    railyard: Railyard, scenario: Path, tmp_path: Path
):
    # The variants `healthy`, `slow` and `cut` alone; two of their jobs lose something.
    chosen = [word for name in ("healthy", "slow", "cut") for word in ("--variant", name)]
    told = tmp_path / "incidents.json"
    code, out, _ = railyard("run", scenario, *chosen, "--incidents", told, "--out", tmp_path / "out")
    assert code == 0
    halt = json.loads((tmp_path / "out" / "result.json").read_text())["metrics"]["cut.near.completion_us"]
    assert "2 of 4 jobs halted or took 0.5 % longer" in out
    assert "job near: rank 0 gave up on rank 1" in " ".join(out.split())
    assert f"{round(halt, 3):,}" not in out
    slow = json.loads(told.read_text())["variants"]["slow"][0]
    assert (slow["blast_radius"]["slower_jobs"], slow["blast_radius"]["halted_jobs"]) == (1, 0)
    slowed = next(job for job in slow["jobs"] if job["job"] == "near")
    assert (slowed["halted"], slowed["reference"]) == (False, "healthy")
    assert slowed["slowdown"] == pytest.approx(slowed["completion_us"] / slowed["reference_us"], abs=1e-6)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "job near halts" in page
    # The bounds of all three variants are the same, so they stand there once.
    bounds = page[page.index("Lower bounds") : page.index("Data that arrived")]
    assert bounds.count("near: ") == len(bounds_of_near(scenario))
    assert "healthy" not in bounds
    assert f"job near takes {slowed['slowdown']:.2f} times as long as in healthy" in page
    assert f'<td class="n">{halt:.3f}</td>' not in page


def bounds_of_near(scenario: Path) -> list[dict[str, object]]:
    """Bounds of the job `near` in one variant."""
    result = railyard.run(scenario, variant="healthy")
    return [bound for bound in result.bounds() if bound["job"] == "near"]
