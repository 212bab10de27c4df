# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of a user's own P4 program, in the result and in Python."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import railyard
from harness.errors import ScenarioError
from harness.files import P4_SOURCES, PROGRAMS
from harness.report.document import result_schema
from harness.report.measurement.own_cells import UNREAD, cells_html
from harness.report.results import conclude
from harness.run.prepare import prepare
from harness.scenario.loader import load

SCENARIO = """\
name: own
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 16384, payload_bytes: 1024}
variants:
  - {name: built-in}
  - {name: mine, program: {ub_npu: {file: mine.json}}}
"""
# As p4c writes them for `counter(2048, CounterType.packets_and_bytes) seen` and `register<bit<32>>(8) last`.
P4INFO = """
counters {
  preamble { id: 302468999 name: "UbEgress.seen" alias: "seen" }
  spec { unit: BOTH }
  size: 2048
}
registers {
  preamble { id: 375567999 name: "UbEgress.last" alias: "last" }
  type_spec { bitstring { bit { bitwidth: 32 } } }
  size: 8
}
"""
COUNT = {"type": "counter_array", "value": "UbEgress.seen"}
WRITE = [{"type": "register_array", "value": "UbEgress.last"}, {"type": "hexstr", "value": "0x00000003"}]
LENGTH = {"type": "field", "value": ["standard_metadata", "packet_length"]}
GUIDE = Path(__file__).resolve().parents[4] / "docs" / "use" / "bring-your-own.md"
Write = Callable[[str], Path]


def own(folder: Path, times: int) -> None:
    """Write ub_npu with a counter that counts each sent frame so often, and its length in a register."""
    program = json.loads((PROGRAMS / "ub_npu.json").read_text())
    program["counter_arrays"].append({"name": "UbEgress.seen", "id": 2, "size": 2048, "is_direct": False})
    program["register_arrays"].append({"name": "UbEgress.last", "id": 0, "size": 8, "bitwidth": 32})
    (action,) = [
        action
        for action in program["actions"]
        if any(
            primitive["op"] == "count" and primitive["parameters"][0]["value"].endswith("tx_by_port_vl")
            for primitive in action["primitives"]
        )
    ]
    index = action["primitives"][-1]["parameters"][1]
    action["primitives"] += [{"op": "count", "parameters": [COUNT, index]}] * times
    action["primitives"] += [{"op": "register_write", "parameters": [*WRITE, LENGTH]}]
    (folder / "mine.json").write_text(json.dumps(program))
    (folder / "mine.p4info.txtpb").write_text((PROGRAMS / "ub_npu.p4info.txtpb").read_text() + P4INFO)


@pytest.mark.parametrize("times", [1, 2])
def test_own_counters_and_registers_are_in_the_result(write: Write, times: int):
    path = write(SCENARIO)
    own(path.parent, times)
    result = railyard.run(path)
    assert result.passed

    cells = result.counters()
    assert {(cell["variant"], cell["counter"]) for cell in cells} == {("mine", "seen")}
    # A cell for each port and lane; port 0 leads to the node's own host.
    counted: dict[tuple[str, int], int] = {}
    for cell in cells:
        port = cell["node"], cell["index"] // 4
        counted[port] = counted.get(port, 0) + cell["packets"]
    sent = {(row["source"], row["destination"]): row["frames"] for row in result.links("mine")}
    for link in result.fabric.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            assert counted[end.node, end.port] == times * sent[end.node, other.node]

    registers = result.registers("mine")
    assert {(cell["node"], cell["register"], cell["index"]) for cell in registers} == {
        (node.name, "last", 3) for node in result.fabric.nodes
    }
    assert all(0 < cell["value"] < 1200 for cell in registers)
    assert result.registers("built-in") == []


def test_a_study_has_columns_of_own_counters_and_registers(write: Write):
    path = write(SCENARIO)
    own(path.parent, 1)
    built_in, mine = railyard.sweep(path, seeds=[1], jobs=1).records()
    result = railyard.run(path, variant="mine")
    for name in ("counters.seen.packets", "counters.seen.bytes", "registers.last"):
        assert mine[name] == result.metric("mine", name) > 0
        assert name not in built_in


ASSERTIONS = """\
assertions:
  - {metric: mine.counters.seen.packets, min: 1}
  - {metric: "mine.counters.seen[npu0].bytes", max: {metric: mine.counters.seen.bytes}}
  - {metric: "mine.registers.last[npu3:3]", max: 1200}
  - {metric: mine.registers.last, equals: {metric: "mine.registers.last[npu1]", times: 1}}
"""


def test_assertions_take_cells(write: Write):
    path = write(SCENARIO + ASSERTIONS)
    own(path.parent, 1)
    result = railyard.run(path)
    cells = result.counters("mine")
    by_metric = {item["metric"]: item for item in result.assertions()}
    assert by_metric["mine.counters.seen.packets"]["value"] == sum(cell["packets"] for cell in cells)
    of_node = by_metric["mine.counters.seen[npu0].bytes"]
    assert of_node["value"] == sum(cell["bytes"] for cell in cells if cell["node"] == "npu0")
    assert of_node["limit"] == sum(cell["bytes"] for cell in cells)
    values = {(cell["node"], cell["index"]): cell["value"] for cell in result.registers("mine")}
    assert by_metric["mine.registers.last[npu3:3]"]["value"] == values["npu3", 3]
    assert by_metric["mine.registers.last"]["value"] == max(values.values())
    for metric, item in by_metric.items():
        if "s." in metric.partition(".")[2]:  # counters.NAME or registers.NAME
            assert result.metric("mine", metric.removeprefix("mine.")) == item["value"]
    with pytest.raises(ScenarioError, match=r"built-in has no metric 'counters.seen.packets'"):
        result.metric("built-in", "counters.seen.packets")
    assert all(item["verdict"] in ("holds", "fails") for item in by_metric.values())
    page = result.report()
    assert "counter seen: " in page
    assert "register last: 4 cells other than 0" in page


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            "mine.counters.sene.packets",
            r"a counter 'sene' that the built-in program lacks; did you mean 'seen'",
        ),
        ("mine.counters.last.packets", "a counter 'last'"),
        ("mine.registers.seen", "a register 'seen' that the built-in program lacks; known are last"),
        (
            "mine.counters.tx_by_port_vl.packets",
            "a counter 'tx_by_port_vl' that the built-in program lacks; known are seen",
        ),
        ("mine.counters.seen[npu9].packets", "npu9"),
        ("mine.counters.seen[npu1:2048].packets", "has no cell 2048; use a cell from 0 to 2047"),
        ("mine.counters.seen", "no metric 'mine.counters.seen'"),
        ("built-in.counters.seen.packets", "no metric 'built-in.counters.seen.packets'"),
    ],
)
@pytest.mark.parametrize("place", ["metric", "limit"])
def test_check_knows_the_cells(write: Write, metric: str, message: str, place: str):
    line = {
        "metric": f'{{metric: "{metric}", max: 1}}',
        "limit": f'{{metric: mine.npus, max: {{metric: "{metric}"}}}}',
    }
    path = write(f"{SCENARIO}assertions:\n  - {line[place]}\n")
    own(path.parent, 1)
    with pytest.raises(railyard.RailyardError, match=re.escape(message)) as refused:
        prepare(*load(path))
    assert f"{path.name}:8" in str(refused.value)


def test_a_register_that_no_switch_lets_read_is_named_and_not_judged(write: Write):
    path = write(SCENARIO + "assertions:\n  - {metric: mine.registers.last, min: 1}\n")
    own(path.parent, 1)
    result = railyard.run(path)
    seen = result.runs["mine"].observation
    refused = replace(seen, registers=(), unread_registers=("last",))
    runs = {**result.runs, "mine": replace(result.runs["mine"], observation=refused)}
    verdict = conclude(result.scenario, 1, "mininet", runs)
    assert [outcome.verdict for outcome in verdict.assertions if "last" in outcome.metric] == ["not judged"]
    assert verdict.unread_registers == {"mine": ("last",)}
    assert f"register last: {UNREAD}" in "".join(cells_html(result.scenario, runs))


def test_result_json_has_the_same_keys(write: Write):
    path = write(SCENARIO)
    own(path.parent, 1)
    result = railyard.run(path)
    document = json.loads(result.to_json())
    jsonschema.validate(document, json.loads(result_schema()))
    for key, table in (("counters", result.counters()), ("registers", result.registers())):
        assert list(document[key]) == ["mine"]
        assert [{"variant": "mine", **cell} for cell in document[key]["mine"]] == table


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c is not installed")
def test_the_changed_program_of_the_guide_counts_long_frames(write: Write):
    changed = re.search(r"```p4\n(#ifndef COUNTERS_P4.*?)```", GUIDE.read_text(), re.DOTALL)
    assert changed
    path = write(SCENARIO.replace("mine.json", "my-p4/ub_npu.p4"))
    shutil.copytree(P4_SOURCES, path.parent / "my-p4")
    (path.parent / "my-p4" / "control" / "counters.p4").write_text(changed[1])
    result = railyard.run(path)
    assert result.passed
    lengths = {cell["value"] for cell in result.registers("mine") if cell["register"] == "longest"}
    assert max(lengths) > 1000
    assert {cell["counter"] for cell in result.counters("mine")} == {"long_frames"}
    assert all(cell["bytes"] > 1000 * cell["packets"] for cell in result.counters("mine"))


def test_a_run_of_built_in_programs_has_neither(write: Write):
    result = railyard.run(write(SCENARIO), variant="built-in")
    assert (result.counters(), result.registers()) == ([], [])
    assert not {"counters", "registers"} & set(json.loads(result.to_json()))
