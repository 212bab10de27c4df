# SPDX-License-Identifier: Apache-2.0
"""Failures in turn: what each job loses, runs that halt and their exit codes, ranks that give up."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import junitparser

from harness.output import output_folder
from harness.sweeps.cases import kind_in_words
from harness.sweeps.conduct import ResultStore, conduct, work_of
from harness.sweeps.plan import plan_study
from harness.sweeps.worker_processes import InProcess
from railyard.cli.display.study import print_study

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

GRAPH = """\
import networkx as nx


def make():
    graph = nx.Graph(name="pair-of-tors", rate_gbps=400)
    for tor in (0, 1):
        graph.add_node(f"tor{tor}", kind="switch", tier=1)
    for spine in (0, 1):
        graph.add_node(f"spine{spine}", kind="switch", tier=2)
    for tor in (0, 1):
        for host in (0, 1):
            graph.add_edge(f"gpu{2 * tor + host}", f"tor{tor}")
        for spine in (0, 1):
            graph.add_edge(f"tor{tor}", f"spine{spine}")
    return graph
"""
TEXT = """\
name: tors
topology: {python: "graph.py:make"}
collective: {elements: 4096, payload_bytes: 1024, members: [gpu0, gpu2]}
link: {detect_us: 0.1}
control: {processing_us: 0.1}
transport: {initial_rto_us: 5, min_rto_us: 3}
jobs:
  - {name: far, collective: {members: [gpu0, gpu2]}}
  - {name: near, collective: {elements: 512, members: [gpu1, gpu3], algorithm: direct}}
variants:
  - {name: tor, FAULT}
"""


def written(write: Write, fault: str) -> Path:
    path = write(TEXT.replace("FAULT", fault))
    (path.parent / "graph.py").write_text(GRAPH)
    return path


def study(folder: Path) -> dict[str, dict[str, object]]:
    return {run["cut"]: run for run in json.loads((folder / "sweep.json").read_text())["runs"]}


def test_a_study_of_switches_fails_if_jobs_halt(railyard: Railyard, write: Write, tmp_path: Path):
    path = written(write, "faults: [{at_us: 0.2, switch: tor0}]")
    given = ("sweep", path, "--fail-each", "switch", "--jobs", "1", "--out", tmp_path / "out")
    code, out, _ = railyard(*given)
    runs = study(tmp_path / "out")
    assert {cut: run["status"] for cut, run in runs.items()} == {
        "": "right",
        "tor0": "stopped",
        "tor1": "stopped",
        "spine0": "right",
        "spine1": "right",
    }
    assert code == 1
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["passed"] is False
    # Each row says which job halted; a job that halted has no time, and one that ended keeps its own.
    assert "far halted, near halted" in " ".join(out.split())
    assert not {"completion_us", "far.completion_us", "near.ratio_to_bound"} & runs["tor0"].keys()
    assert "far halted" in (tmp_path / "out" / "report.html").read_text()
    code, _, _ = railyard(*given, "--allow-stopped")
    assert code == 0
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["passed"] is True


def test_a_failure_of_one_job_leaves_the_time_of_the_other(railyard: Railyard, write: Write, tmp_path: Path):
    path = written(write, "faults: [{at_us: 0.2, npu: gpu0}]")
    railyard("sweep", path, "--fail-each", "npu", "--jobs", "1", "--out", tmp_path / "out")
    runs = study(tmp_path / "out")
    assert runs["gpu0"]["near.completion_us"] == runs[""]["near.completion_us"]
    assert "far.completion_us" not in runs["gpu0"]


def test_the_expected_halt_of_a_variant_is_about_its_own_faults(
    railyard: Railyard, write: Write, tmp_path: Path
):
    path = written(write, "expect: halt, faults: [{at_us: 0.2, switch: tor0}]")
    assert railyard("run", path, "--quiet", "--no-report", "--out", tmp_path / "run")[0] == 0
    railyard("sweep", path, "--fail-each", "switch", "--jobs", "1", "--out", tmp_path / "out")
    runs = study(tmp_path / "out")
    assert [runs[cut]["status"] for cut in ("", "spine0", "tor0")] == ["right", "right", "stopped"]


def test_a_rank_that_gives_up_is_no_wrong_data(railyard: Railyard, write: Write, tmp_path: Path):
    # The only link of gpu0 loses all frames, and no node notices.
    path = written(write, "faults: [{at_us: 0.2, link: tor0-gpu0, event: loss, percent: 100}]")
    code, out, _ = railyard("sweep", path, "--seeds", "1", "--jobs", "1", "--out", tmp_path / "out")
    (run,) = study(tmp_path / "out").values()
    assert (code, run["status"]) == (1, "gave-up")
    assert str(run["trouble"]).startswith("job far: rank 0 gave up on rank 1")
    assert "far.completion_us" not in run
    assert "near.completion_us" in run
    assert "wrong" not in out


def test_the_table_of_a_run_has_no_time_of_a_halted_job(railyard: Railyard, write: Write, tmp_path: Path):
    path = written(write, "faults: [{at_us: 0.2, npu: gpu0}]")
    path.write_text(path.read_text().replace("variants:\n", "variants:\n  - {name: healthy}\n"))
    railyard("run", path, "--quiet", "--no-report", "--out", tmp_path / "run")
    rows = list(csv.DictReader(io.StringIO(railyard("results", tmp_path / "run")[1])))
    healthy, tor = rows
    assert (healthy["status"], tor["status"]) == ("right", "stopped")
    assert tor["far.completion_us"] == tor["completion_us"] == ""
    assert tor["near.completion_us"] == healthy["near.completion_us"] != ""
    # A row has the metrics of its own variant alone.
    assert not [column for column in tor if column.startswith(("healthy.", "tor."))]


def test_kinds_of_failures_in_words():
    assert [
        kind_in_words(kind) for kind in ("link", "pair:20", "random:1", "random:2x2000@30.000", "random:3x5")
    ] == [
        "each link fails in turn",
        "20 random pairs of links fail",
        "1 random fault of links in each run",
        "2 random faults of links in each run, until 30 µs",
        "3 random faults of links in each run",
    ]


def test_a_further_failure_beside_a_drained_switch(railyard: Railyard, write: Write, tmp_path: Path):
    kept = "faults: [{at_us: 0.001, switch: spine0}, {at_us: 0.2, switch: tor0}]"
    given = ("sweep", written(write, kept), "--fail-each", "switch", "--jobs", "1", "--out", tmp_path / "out")
    assert railyard(*given, "--keep-faults", "--allow-stopped")[0] == 0
    runs = study(tmp_path / "out")
    # With a drained spine, the other spine is on the only path, whose switches all stop the job.
    assert {cut: run["status"] for cut, run in runs.items()} == {
        "": "right",
        "tor0": "stopped",
        "tor1": "stopped",
        "spine0": "right",
        "spine1": "stopped",
    }
    document = json.loads((tmp_path / "out" / "study.json").read_text())
    assert document["keep_faults"] is True
    assert "beside the variant" in (tmp_path / "out" / "report.html").read_text()
    path = written(write, "faults: [{at_us: 0.2, switch: tor0}]")
    code, _, err = railyard("sweep", path, "--fail-each", "switch", "--keep-faults")
    assert (code, "the variant 'tor' has a single fault" in err) == (2, True)
    code, _, err = railyard("sweep", path, "--seeds", "1,2", "--keep-faults")
    assert (code, "keep_faults without targets" in err) == (2, True)


def test_a_study_names_the_point_of_a_run_that_stopped(railyard: Railyard, write: Write, tmp_path: Path):
    path = written(write, "faults: [{at_us: 0.2, switch: spine0}]")
    code, _, err = railyard("sweep", path, "--set", "faults.0.switch=spine0,tor0")
    assert (code, "variant 'tor' has its own faults" in err) == (2, True)
    axis = "variants.tor.faults.0.switch=spine0,tor0"
    code, out, _ = railyard("sweep", path, "--set", axis, "--jobs", "1", "--out", tmp_path / "out")
    assert code == 1
    assert "stopped tor, switch tor0, seed 1:" in " ".join(out.split())
    assert "tor, switch spine0, seed 1" in " ".join(out.split())


def test_designs_are_named_by_their_parameters(railyard: Railyard, write: Write, tmp_path: Path):
    path = write(
        "name: designs\ntopology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 256}\n"
        "study:\n  set:\n    topology: [{name: full-mesh, dims: [2, 2]}, {name: hpn, aggs: 1, hosts: 2}]\n"
    )
    code, out, _ = railyard("sweep", path, "--jobs", "1", "--out", tmp_path / "out")
    assert code == 0
    assert "hpn aggs=1 hosts=2" in " ".join(out.split())
    report = (tmp_path / "out" / "report.html").read_text()
    assert "hpn aggs=1 hosts=2" in report
    assert "{&#x27;" not in report


def test_points_in_turn_have_equally_many_results_when_a_campaign_ends(write: Write, tmp_path: Path):
    path = write(
        "name: turns\ntopology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 256}\n"
        "study: {set: {link.detect_us: [0.1, 0.2]}, fail_each: random:1x9@0.05}\n"
    )
    plan, store = plan_study(path), ResultStore()
    conduct(plan.runs, store, InProcess(work_of(plan)), in_turn=True, stop=lambda: len(store.results) >= 8)
    points = [result["point"]["link.detect_us"] for result in store.results.values()]
    assert sorted(points) == [0.1] * 4 + [0.2] * 4
    with output_folder(tmp_path / "part") as folder:
        print_study(plan, [*store.results.values()], (), folder, "railyard sweep")
    assert "8 of 20 runs so far" in (tmp_path / "part" / "report.html").read_text()


def test_a_run_does_not_replace_the_report_of_a_study(railyard: Railyard, write: Write, tmp_path: Path):
    path = write("name: own\ntopology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 256}\n")
    assert railyard("sweep", path, "--seeds", "1,2", "--jobs", "1", "--out", tmp_path / "out")[0] == 0
    code, _, err = railyard(
        "sweep", path, "--set", "link.detect_us=1,2", "--jobs", "1", "--out", tmp_path / "out"
    )
    assert (code, f"2 results of other axes stay in {tmp_path / 'out'}" in " ".join(err.split())) == (0, True)
    code, _, err = railyard("run", path, "--out", tmp_path / "out")
    assert (code, "holds the results of a study" in " ".join(err.split())) == (3, True)


def test_a_study_writes_junit_with_a_case_for_each_run(railyard: Railyard, write: Write, tmp_path: Path):
    path = written(write, "faults: [{at_us: 0.2, switch: tor0}]")
    given = ("sweep", path, "--fail-each", "switch", "--jobs", "1", "--out", "out", "--junit", "junit.xml")
    assert railyard(*given)[0] == 1
    (suite,) = junitparser.JUnitXml.fromfile("junit.xml")
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 2, 0, 0)
    messages = {case.name: case.result[0].message for case in suite if case.result}
    assert messages.keys() == {"tor, tor0", "tor, tor1"}
    assert messages["tor, tor0"].startswith("stopped: gpu0")
    assert railyard(*given, "--allow-stopped")[0] == 0
    (suite,) = junitparser.JUnitXml.fromfile("junit.xml")
    assert suite.failures == 0
    code, _, err = railyard(*given[:-1], "out")
    assert (code, "--junit out: the file cannot be written" in " ".join(err.split())) == (3, True)
