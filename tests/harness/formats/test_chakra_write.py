# SPDX-License-Identifier: Apache-2.0
"""Traffic as Chakra's traces: what the reader makes of them is the same traffic, in the same order."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Graph, Operation
from harness.errors import FormatError
from harness.formats.chakra.data_order import data_order
from harness.formats.chakra.trace import read_trace
from harness.formats.chakra.write import to_traces, write_traces
from harness.formats.imported import Imported
from harness.formats.registry import read_files
from railyard.cli import app

CHAIN = Graph(
    "chain",
    (
        Operation("work", "compute", "npu0", compute_ps=1_500_250, unit=1),
        Operation("there", "send", "npu0", "npu1", 100, write=0, after=("work",)),
        Operation("add", "send", "npu2", "npu1", 100, write=0, combine=Combine.REDUCE, tag=4),
        Operation("add.end", "receive", "npu1", "npu2", 100, write=0, combine=Combine.REDUCE, tag=4),
        Operation("keep", "copy", "npu1", size=100, read=0, write=400),
        Operation("on", "send", "npu1", "npu2", 100, read=400, compute_ps=2_000_000),
        Operation("back", "send", "npu2", "npu0", 8, after=("on",)),
    ),
)
RANKS = {"npu0": 0, "npu1": 1, "npu2": 2}


def _imported(folder: Path, graph: Graph, *, packed: bool = False) -> Imported:
    write_traces(folder, "chain", to_traces([("job", graph)], RANKS), packed=packed)
    return read_files("chakra", [folder])


def test_elements_order_operations() -> None:
    order, of_read, of_write = data_order(CHAIN)
    assert order == [*range(7)]
    assert of_write[3] == [1], "the sum follows the first arrival at the same place"
    assert of_read[4] == [3], "the copy reads what the second arrival has added"
    assert of_read[5] == [4]


@pytest.mark.parametrize("packed", [False, True])
def test_traces_are_read_back(tmp_path: Path, packed: bool) -> None:
    imported = _imported(tmp_path, CHAIN, packed=packed)
    assert ((tmp_path / "chain.0.et").read_bytes()[:2] == b"\x1f\x8b") == packed
    names = {
        f"r{rank}.{node.id}": node.name
        for rank in range(3)
        for node in read_trace(tmp_path / f"chain.{rank}.et")
    }
    waits = {
        (operation.member, names[operation.id]): [names[name] for name in operation.after]
        for operation in imported.graph.operations
    }
    assert waits == {
        ("npu0", "work"): [],
        ("npu0", "there"): ["work"],
        ("npu0", "back"): [],
        ("npu1", "there"): [],
        ("npu1", "add"): ["there"],
        ("npu1", "keep"): ["add"],
        ("npu1", "on.compute"): ["keep"],
        ("npu1", "on"): ["on.compute"],
        ("npu2", "add"): [],
        ("npu2", "on"): [],
        ("npu2", "back"): ["on"],
    }
    operations = {(o.member, names[o.id]): o for o in imported.graph.operations}
    work = operations["npu0", "work"]
    assert (work.compute_ps, work.unit) == (1_500_250, 1)
    assert operations["npu2", "add"].kind == "send"
    assert operations["npu1", "add"].kind == "receive"
    assert operations["npu1", "add"].combine is Combine.REDUCE


def test_tags_tell_messages_of_a_pair_apart(tmp_path: Path) -> None:
    sends = [Operation(f"s{number}", "send", "npu0", "npu1", 4 + 4 * number) for number in range(3)]
    imported = _imported(tmp_path, Graph("three", tuple(sends)))
    receives = [o for o in imported.graph.operations if o.kind == "receive"]
    assert [(o.tag, o.size) for o in receives] == [(0, 4), (1, 8), (2, 12)]


def test_times_of_a_run(tmp_path: Path) -> None:
    traces = to_traces([("job", CHAIN)], RANKS, {("job", "there"): (2_000_000, 3_600_000)})
    write_traces(tmp_path, "run", traces, packed=False)
    (arrival,) = (node for node in read_trace(tmp_path / "run.1.et") if node.name == "there")
    assert arrival.duration_us == 2, "Chakra's times are whole microseconds"
    assert (arrival.values["start_ps"], arrival.values["duration_ps"]) == (2_000_000, 1_600_000)


def test_export_of_a_scenario_and_of_its_run(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        """name: pair
topology: {name: full-mesh, dims: [3]}
graph:
  operations:
    - {id: first, send: 64, from: npu0, to: npu1}
    - {id: second, send: 64, from: npu1, to: npu2, after: [first]}
"""
    )
    planned, ran, results = tmp_path / "planned", tmp_path / "ran", tmp_path / "results"
    _runs("export", "chakra", scenario, "--out", planned)
    _runs("run", scenario, "--no-report", "--quiet", "--out", results)
    _runs("export", "chakra", results, "--out", ran, "--gzip")
    (trace,) = ran.glob("pair-*.2.et")
    (second,) = read_trace(trace)
    assert second.values["start_ps"] > 0
    assert gzip.decompress(trace.read_bytes()) != (planned / trace.name).read_bytes()
    scenario.write_text(scenario.read_text().replace("64", "128"))
    done = CliRunner().invoke(app, ["export", "chakra", str(results), "--out", str(ran)])
    assert isinstance(done.exception, FormatError)
    assert "has changed since the run" in str(done.exception)


def _runs(*words: str | Path) -> None:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output


def test_results_of_other_operations(tmp_path: Path) -> None:
    from harness.formats.chakra.run import traces_of

    with pytest.raises(FormatError, match="no job"):
        traces_of([], "run", {})


def test_chakras_own_reader(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """`--chakra` names a checkout of mlcommons/chakra; its jsonizer reads each node of a compressed trace."""
    checkout = request.config.getoption("--chakra")
    if checkout is None:
        pytest.skip("needs Chakra's own tools: --chakra FOLDER")
    package = tmp_path / "chakra"
    for folder in ("src", "schema"):
        (package / folder).parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", str(Path(checkout, folder)), str(package / folder)], check=True)
    schema = package / "schema" / "protobuf"
    subprocess.run(["protoc", "-I", schema, "--python_out", schema, schema / "et_def.proto"], check=True)
    traces = tmp_path / "traces"
    _imported(traces, CHAIN, packed=True)
    target = tmp_path / "nodes.json"
    arguments = ["--input_filename", str(traces / "chain.1.et"), "--output_filename", str(target)]
    command = [sys.executable, "-m", "chakra.src.jsonizer.jsonizer", *arguments]
    subprocess.run(command, cwd=tmp_path, check=True)
    text = target.read_text()
    assert text.count('"type": "COMM_RECV_NODE"') == 2
    assert text.count('"type": "COMM_SEND_NODE"') == 1
    assert text.count('"type": "COMP_NODE"') == 2
