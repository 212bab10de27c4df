# SPDX-License-Identifier: Apache-2.0
"""GOAL, htsim's matrices, ns-3-UB's folders: what their lines become, and refusals with their line."""

from pathlib import Path

import pytest

from emulation.traffic.graph.operations import Operation
from harness.errors import FormatError
from harness.formats.imported import Imported
from harness.formats.registry import read_files
from tests.harness.formats.samples import FAULTS, GOAL, LINKS, MATRIX, NODES, TASKS, case
from tests.topologies.sources.test_htsim_topology import TWO_TIERS

SHORTEST = {"routing": {"strategy": "equal-cost"}}
KEEPS = {"connections": {"paths": "random", "count": 1}}
UNTIMED = {"initial_rto_us": 10_000, "min_rto_us": 10_000}


def _read(name: str, folder: Path, text: str) -> Imported:
    path = folder / "sample"
    path.write_text(text)
    return read_files(name, [path])


def _by_id(imported: Imported) -> dict[str, Operation]:
    return {operation.id: operation for operation in imported.graph.operations}


def test_operations_of_goal(tmp_path: Path) -> None:
    operations = _by_id(_read("goal", tmp_path, GOAL))
    send, calc, late = (operations[f"r0.{label}"] for label in ("a", "b", "d"))
    assert (send.kind, send.size, send.peer, send.tag) == ("send", 64, "npu1", 7)
    assert (calc.compute_ps, calc.unit, calc.after) == (100_000, 1, ("r0.a",))
    assert late.after == ("r0.a",), "d begins with b, which begins after a"
    assert operations["r2.#15"].size == 8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("send 64b to 1", "send 64b to 3", ":4: rank 3 is out of range; give 0 to 2"),
        ("send 64b to 1", "send 64b to 0", ":4: rank 0 sends to itself"),
        ("b requires a", "b requires x", ":6: no operation of this rank is called x"),
        ("d irequires b", "d requires d", ":8: operation d waits for itself"),
        ("calc 5", "sleep 5", ":8: 'd: sleep 5' is no operation"),
        ("rank 1 {", "rank 0 {", ":11: rank 0 appears twice"),
        ("send 8b to 0\n}\n", "send 8b to 0", "rank 2 has no end; the file may be cut short"),
        ("num_ranks 3", "num_ranks 1", ":1: num_ranks 1 is out of range; give 2 to 65536"),
        ("recv 8b from 2", "recv 9b from 2", "9 bytes, but the send 'r2.#15' has 8"),
        ("send 8b to 0\n", "", "npu0 receives from npu2 with tag 0 once more than is sent"),
    ],
)
def test_goal_refuses(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOAL
    with pytest.raises(FormatError, match="sample") as caught:
        _read("goal", tmp_path, GOAL.replace(old, new, 1))
    assert message in str(caught.value)


def test_flows_of_a_matrix(tmp_path: Path) -> None:
    imported = _read("htsim", tmp_path, MATRIX)
    operations = _by_id(imported)
    assert operations["flow3"].at_ps == 5000
    assert operations["flow2"].after == ("flow1",)
    assert set(operations["flow4"].after) >= {"flow2"}
    assert "flow3>npu1" in operations, "the end of flow 3 is not seen on node 1: a message tells it"
    assert imported.topology == {"name": "full-mesh", "dims": [4]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0->1", "0->4", ":4: node 4 is out of range; give 0 to 3"),
        ("0->1", "1->1", ":4: 1->1 does not join two different nodes"),
        ("size 1000", "size 0", ":4: the flow has no size"),
        ("start 0 ", "", ":4: the flow has neither `start` nor `trigger`"),
        ("5000.000", "5000.5", ":7: start 5000.5 is no whole number; give whole picoseconds"),
        ("barrier count 2", "barrier count 3", ":10: trigger 2 fires after 3 flows, but 2 flows name it"),
        ("trigger id 1 oneshot\n", "", "the head says 2 triggers, the file has 1"),
        ("Connections 4", "Connections 5", "the head says 5 flows, the file has 4"),
        ("size 4\n", "size 4 color 3\n", ":8: a flow has no key 'color'"),
    ],
)
def test_matrix_refuses(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MATRIX
    with pytest.raises(FormatError, match="sample") as caught:
        _read("htsim", tmp_path, MATRIX.replace(old, new, 1))
    assert message in str(caught.value)


def test_a_matrix_on_a_topology(tmp_path: Path) -> None:
    matrix, topology = tmp_path / "a.cm", tmp_path / "a.topo"
    matrix.write_text(MATRIX)
    topology.write_text(TWO_TIERS)
    imported = read_files("htsim", [matrix, topology])
    assert imported.fabric is not None
    assert {node.name for node in imported.fabric.nodes} >= {"npu0", "npu7", "tor1", "agg1"}
    with pytest.raises(FormatError, match="0 matrices and 1 topologies"):
        read_files("htsim", [topology])
    matrix.write_text(MATRIX.replace("Nodes 4", "Nodes 9"))
    topology.write_text(TWO_TIERS)
    with pytest.raises(FormatError, match=r"a\.cm: the matrix has 9 nodes, but .*a\.topo has 8"):
        read_files("htsim", [topology, matrix])


@pytest.mark.parametrize(
    ("shortest", "spray", "again", "ports", "settings"),
    [
        ("true", "false", "true", "", {**SHORTEST, "transport": KEEPS}),
        ("true", "false", "false", "1, 1", {**SHORTEST, "transport": KEEPS | UNTIMED}),
        ("true", "false", "true", "0, 1", SHORTEST),
        ("true", "true", "true", "", SHORTEST),
        ("false", "false", "false", "", {"transport": UNTIMED}),
        ("false", "true", "true", "0, 1", {}),
    ],
)
def test_attributes_of_ns3_ub(
    tmp_path: Path, shortest: str, spray: str, again: str, ports: str, settings: dict[str, object]
) -> None:
    lines = [f'UseShortestPaths "{shortest}"', f'UsePacketSpray "{spray}"', f'EnableRetrans "{again}"']
    text = "".join(f"default ns3::UbTransportChannel::{line}\n" for line in lines)
    (case(tmp_path) / "network_attribute.txt").write_text(text)
    if ports:
        first, second = ports.split(", ")
        channels = f"0, {first}, 0, 1, 0, 0, 7, 2\n0, {second}, 1, 1, 0, 1, 7, 2"
        head = "nodeId1, portId1, tpn1, nodeId2, portId2, tpn2, priority, metric"
        (tmp_path / "transport_channel.csv").write_text(f"{head}\n{channels}")
    assert read_files("ns-3-ub", [tmp_path]).settings == settings


def test_case_of_ns3_ub(tmp_path: Path) -> None:
    imported = read_files("ns-3-ub", [case(tmp_path)])
    fabric, operations = imported.fabric, _by_id(imported)
    assert fabric is not None
    link = fabric.link_at("n2", 1)
    assert link is not None
    assert (link.rate_bps, link.delay_ps) == (200 * 10**9, 10**6)
    links = {fabric.link_at("n3", port) for port in (1, 2, 3)}
    assert {link.name for link in links if link is not None} == {"n0-n3", "n1-n3", "n2-n3"}
    request, data = operations["task1.request"], operations["task1"]
    assert (request.member, request.after, request.delay_ps) == ("n1", ("task0",), 10_000)
    assert (data.member, data.peer, data.size, data.after) == ("n2", "n1", 8192, ("task1.request",))
    assert imported.faults == ({"at_us": 0.001, "direction": "n3->n1", "event": "rate", "percent": 25.0},)
    assert any("line 3 (loss of task 0) is left out" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("node", NODES.replace("0..2", "2..0"), "node.csv:2: nodeId 0 is out of range; give 2 to 65536"),
        ("node", NODES.replace("SWITCH", "ROUTER"), "node.csv:3: nodeType 'ROUTER'"),
        ("topology", LINKS.replace("1,0,3,1", "1,0,3,0"), "topology.csv:3: port 0 of node 3 has two links"),
        ("topology", LINKS.replace("1,0,3,1", "1,0,9,1"), "topology.csv:3: node 9 is not in node.csv"),
        ("topology", LINKS.replace("400Gbps", "fast"), "topology.csv:2: rate 'fast'"),
        ("traffic", TASKS.replace("URMA_READ", "READ"), "traffic.csv:3: opType 'READ'"),
        ("traffic", TASKS.replace("0,0,1", "0,0,3"), "traffic.csv:2: node 3 of task 0 is no DEVICE"),
        (
            "traffic",
            TASKS.replace(",1 2", ",1 9"),
            "traffic.csv:5: task 2 depends on phase 9, which has no task",
        ),
        ("traffic", TASKS[:127], "traffic.csv:3: the row has 4 columns; the file may be cut short"),
        ("fault", FAULTS.replace("3 1 100000", "3 9 100000"), "fault.csv:2: port 9 of node 3 has no link"),
        ("fault", FAULTS.replace("3 1 100000", "3 1"), "fault.csv:2: '3 1' is no parameter of a lower rate"),
    ],
)
def test_case_refuses(tmp_path: Path, file: str, text: str, message: str) -> None:
    case(tmp_path)
    (tmp_path / f"{file}.csv").write_text(text)
    with pytest.raises(FormatError) as caught:
        read_files("ns-3-ub", [tmp_path])
    assert message in str(caught.value)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent\.goal: the file cannot be read: No such file"):
        read_files("goal", [tmp_path / "absent.goal"])
    with pytest.raises(FormatError, match=r"node\.csv: the file cannot be read: No such file"):
        read_files("ns-3-ub", [tmp_path])
    with pytest.raises(FormatError, match="format 'gaol' is unknown; give chakra, goal, htsim"):
        read_files("gaol", [tmp_path])
