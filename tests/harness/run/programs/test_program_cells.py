# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of a user's own P4 program, in the result and in Python."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import railyard
from harness.files import P4_SOURCES, PROGRAMS
from harness.report.document import result_schema

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
