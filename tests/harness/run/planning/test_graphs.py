# SPDX-License-Identifier: Apache-2.0
"""Traffic graphs of scenarios: both forms, jobs on the same members, refusals, timeline."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import railyard
from emulation.traffic.graph.truth import GraphInputs, compare_graph
from harness.errors import ScenarioError
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from railyard import RailyardError

Write = Callable[[str], Path]

HEAD = "name: small\ntopology: {name: full-mesh, dims: [4]}\n"
ROWS = """\
graph:
  operations:
    - {id: data, send: 40960, from: npu0, to: npu1}
    - {id: work, compute_us: 3, on: npu1, after: [data]}
    - {id: result, send: 4096, from: npu1, to: npu2, after: [work]}
"""
GRAPH = {
    "operations": [
        {"id": "data", "send": 40960, "from": "npu0", "to": "npu1"},
        {"id": "work", "compute_us": 3, "on": "npu1", "after": ["data"]},
        {"id": "result", "send": 4096, "from": "npu1", "to": "npu2", "after": ["work"]},
    ]
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(text: str) -> Path:
        path = tmp_path / "scenario.yaml"
        path.write_text(text)
        return path

    return call


def test_all_forms_give_the_same_run(write: Write, tmp_path: Path) -> None:
    inline = railyard.run(write(HEAD + ROWS))
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH))
    of_file = railyard.run(write(HEAD + "graph: {file: graph.json}\n"))
    graph = railyard.TrafficGraph()
    data = graph.send("npu0", "npu1", 40960, id="data")
    work = graph.compute("npu1", 3, after=data, id="work")
    graph.send("npu1", "npu2", 4096, after=[work], id="result")
    values = {"name": "small", "topology": {"name": "full-mesh", "dims": [4]}}
    in_python = railyard.run({**values, "graph": {"operations": graph.operations}})
    assert inline.passed
    assert inline.operations() == of_file.operations() == in_python.operations()
    assert inline.metrics() == of_file.metrics() == in_python.metrics()
    rows = {row["id"]: row for row in inline.operations()}
    assert rows["work"]["begin_us"] == rows["data"]["end_us"]
    assert rows["result"]["begin_us"] == rows["work"]["end_us"] == pytest.approx(rows["work"]["begin_us"] + 3)
    graph.save(tmp_path / "saved.json")
    assert json.loads((tmp_path / "saved.json").read_text())["operations"] == [
        {**row, "compute_us": 3.0} if "compute_us" in row else row for row in GRAPH["operations"]
    ]


def test_the_report_draws_the_timeline(write: Write) -> None:
    result = railyard.run(write(HEAD + ROWS))
    page = result.report()
    assert "Timeline of sends" in page
    assert "data: send of 40,960 bytes" in page
    document = json.loads(result.to_json())
    assert [row["id"] for row in document["operations"]["run"]] == ["data", "work", "result"]


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("send: 40960", "send: 0", 5, "operations[0].send: 0 bytes; give 1 byte or more"),
        ("to: npu2", "to: npu9", 7, "operations[2].to: full-mesh 4 has no member 'npu9'"),
        ("after: [data]", "after: [dat]", 6, "operations[1].after: no operation is called 'dat'"),
        ("on: npu1", "on: npu3", 6, "operations[1].after: npu3 does not see the end of 'data'"),
        ("send: 4096,", "send: 4096, aftr: 1,", 7, "unknown key 'aftr' of a send; did you mean 'after'?"),
    ],
)
def test_mistakes_have_file_line_and_key(
    write: Write, tmp_path: Path, old: str, new: str, line: int, why: str
) -> None:
    path = write(HEAD + ROWS.replace(old, new, 1))
    with pytest.raises(RailyardError) as caught:
        prepare(*load(path))
    message = str(caught.value).replace("full-mesh-4", "full-mesh 4")
    assert f"{path}:{line}: " in message
    assert why in message


def test_a_mistake_in_a_file_has_the_line_of_that_file(write: Write, tmp_path: Path) -> None:
    rows = [*GRAPH["operations"], {"id": "x", "send": 4, "from": "npu0", "to": "npu0"}]
    text = '{"operations": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]}"
    (tmp_path / "graph.json").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        prepare(*load(write(HEAD + "graph: {file: graph.json}\n")))
    assert f"{tmp_path / 'graph.json'}:5: operations[3].to: npu0 cannot send to itself" in str(caught.value)
    (tmp_path / "graph.json").write_text('{"operations": [\n{,}]}')
    with pytest.raises(ScenarioError, match=r"graph\.json:2: the file is not JSON"):
        prepare(*load(write(HEAD + "graph: {file: graph.json}\n")))
    with pytest.raises(ScenarioError, match="does not exist"):
        prepare(*load(write(HEAD + "graph: {file: none.json}\n")))


JOBS = """\
collective: {payload_bytes: 1024}
jobs:
  - name: graph
    graph:
      operations:
        - {id: data, send: 40960, from: npu0, to: npu1}
        - {id: work, compute_us: 9, on: npu1, after: [data]}
  - {name: allreduce, at_us: 2, collective: {kind: allreduce, algorithm: direct, elements: 4096}}
  - {name: alone, collective: {kind: all-gather, algorithm: direct, elements: 4096, members: [npu4, npu5]}}
"""


def test_jobs_share_members(write: Write) -> None:
    scenario, document = load(write(HEAD.replace("[4]", "[6]") + JOBS.replace("4096}}\n  - {name: alone",
        "4096, members: [npu0..npu3]}}\n  - {name: alone")))  # fmt: skip
    (ready,) = prepare(scenario, document)
    assert [job.name for job in ready.jobs] == ["graph+allreduce", "alone"]
    seen = observe(ready, 1)
    graph, allreduce, alone = seen.jobs
    assert (seen.nodes, seen.correct_nodes, seen.first_wrong) == (8, 8, "")
    assert (graph.name, graph.nodes, allreduce.nodes, alone.nodes) == ("graph", 2, 4, 2)
    assert (graph.begun_ps, allreduce.begun_ps) == (0, 2 * 10**6)
    assert graph.completion_ps > 9 * 10**6
    assert 0 < allreduce.completion_ps < graph.completion_ps
    assert {op.job for op in seen.operations} == {"graph", "allreduce"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("iterations: 2", "npu0 is also a member of job 'graph', and a job with iterations cannot share"),
        ("priority: 0", "jobs that share members need equal `priority:`"),
    ],
)
def test_jobs_that_cannot_share_members(write: Write, more: str, why: str) -> None:
    text = HEAD + JOBS.partition("  - {name: alone")[0].replace("at_us: 2", more)
    with pytest.raises(ScenarioError, match=why):
        prepare(*load(write(text)))


def test_a_graph_has_no_keys_of_a_collective(write: Write) -> None:
    with pytest.raises(ScenarioError, match="a job with a graph takes no `kind:`"):
        load(write(HEAD + ROWS + "collective: {kind: all-gather}\n"))
    with pytest.raises(ScenarioError, match="contains its own computations"):
        load(write(HEAD + "jobs: [{name: a, iterations: 2, graph: {file: x.json}}]\n"))
    with pytest.raises(ScenarioError, match="give exactly one of them"):
        load(write(HEAD + "graph: {signals: true}\n"))


def test_a_wrong_element_is_found(write: Write) -> None:
    (ready,) = prepare(*load(write(HEAD + ROWS)))
    sliced = ready.jobs[0].graph
    assert sliced is not None
    inputs = GraphInputs(sliced, "int32", 1)
    (comparison,) = compare_graph(inputs, inputs, sliced)
    assert comparison.wrong_ranks == 2  # nothing has been sent
    assert comparison.first == "job job: npu1 has a wrong element 0 of data"


def test_the_graph_of_a_collective_takes_its_time(write: Write) -> None:
    """An AllReduce as a graph, beside a job that only computes, takes the time of the AllReduce alone."""
    line = "{name: allreduce, collective: {kind: allreduce, algorithm: direct, elements: 65536}}"
    alone = observe(prepare(*load(write(f"{HEAD}jobs: [{line}]\n")))[0], 1)
    idle = "{name: idle, graph: {operations: [{id: w, compute_us: 1, on: npu0}]}}"
    beside = observe(prepare(*load(write(f"{HEAD}jobs: [{line}, {idle}]\n")))[0], 1)
    assert alone.operations == ()
    assert beside.correct_nodes == beside.nodes == 5
    assert beside.jobs[0].completion_ps == pytest.approx(alone.jobs[0].completion_ps, rel=0.05)


def test_the_traffic_graph_of_the_experiment() -> None:
    """Variants of experiment 23 that differ in what waits for what."""
    path = Path(__file__).parents[4] / "experiments" / "23_traffic_graph" / "scenario.yaml"
    result = railyard.run(path)
    assert result.passed
    rows = {row["id"]: row for row in result.operations("inline")}
    stored, flowing = rows["stored"]["end_us"], rows["flowing"]["end_us"]
    assert stored == pytest.approx(2 * rows["first"]["end_us"], rel=0.01)
    assert flowing - 20 < 0.6 * stored
