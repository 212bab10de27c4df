# SPDX-License-Identifier: Apache-2.0
"""Differences between a planned and a discovered fabric, in words; scans whose answers are wrong."""

import pytest

from controller.discovery import Discovered, TopologyScan, compare_cables, guid_of
from controller.discovery.scan import Device
from controller.discovery.wire import Answer
from controller.errors import PlanError
from topologies import Fabric, full_mesh
from topologies.transform.cabling import swap_cables, unplug

MESH = full_mesh((4,))


def seen(fabric: Fabric) -> Discovered:
    """Return what a scan without faults finds."""
    guids = {node.name: guid_of(node) for node in fabric.nodes}
    discovered = Discovered({guid: Device(guid, 0, 3) for guid in guids.values()})
    for link in fabric.links:
        a, b = (guids[link.a.node], link.a.port), (guids[link.b.node], link.b.port)
        discovered.links |= {a: b, b: a}
    return discovered


def test_the_planned_graph_has_no_findings() -> None:
    assert compare_cables(MESH, seen(MESH)) == []


def test_exchanged_cables_are_a_single_finding() -> None:
    (finding,) = compare_cables(MESH, seen(swap_cables(MESH, "npu0-npu1", "npu2-npu3")))
    assert finding.kind == "swapped"
    assert finding.text == (
        "two cables are exchanged: port 1 of npu0 leads to port 3 of npu3 instead of port 1 of npu1, and "
        "port 3 of npu2 to port 1 of npu1 instead of port 3 of npu3"
    )
    assert {(end.node, end.port) for end in finding.ends} == {
        ("npu0", 1),
        ("npu1", 1),
        ("npu2", 3),
        ("npu3", 3),
    }


def test_a_missing_cable_names_both_ends() -> None:
    (finding,) = compare_cables(MESH, seen(unplug(MESH, "npu0-npu1")))
    assert (finding.kind, finding.text) == (
        "missing",
        "port 1 of npu0 leads nowhere: it belongs to port 1 of npu1",
    )


def test_three_cables_in_a_ring_of_sockets() -> None:
    """Three second ends have moved on by a socket: no two cables are exchanged, and each port is named."""
    moved = swap_cables(swap_cables(MESH, "npu0-npu1", "npu0-npu2"), "npu0-npu2", "npu0-npu3")
    findings = compare_cables(MESH, seen(moved))
    assert [finding.kind for finding in findings] == ["wrong"] * 3
    assert findings[0].text == (
        "port 1 of npu0 leads to port 1 of npu2: port 1 of npu0 belongs to port 1 of npu1 and "
        "port 1 of npu2 belongs to port 2 of npu0"
    )


def test_a_cable_where_none_is_planned() -> None:
    planned = unplug(MESH, "npu0-npu1")
    (finding,) = compare_cables(planned, seen(MESH))
    assert (finding.kind, finding.text) == (
        "extra",
        "port 1 of npu0 leads to port 1 of npu1: no cable is planned there",
    )


def test_nodes_that_are_not_planned_and_nodes_that_are_not_reached() -> None:
    discovered = seen(MESH)
    unreached = guid_of(MESH.node("npu3"))
    del discovered.nodes[unreached]
    discovered.nodes[77] = Device(77, 0, 1, (1, 2))
    texts = [finding.text for finding in compare_cables(MESH, discovered)]
    assert texts == [f"node {77:032x} is not planned; ports on the way to it: 1, 2", "npu3 was not reached"]


def test_unknown_links_are_refused() -> None:
    with pytest.raises(Exception, match="no link named 'npu0-npu9'"):
        unplug(MESH, "npu0-npu9")
    with pytest.raises(Exception, match="exchanged with itself"):
        swap_cables(MESH, "npu0-npu1", "npu0-npu1")


def test_a_root_that_does_not_answer() -> None:
    scan = TopologyScan()
    assert len(scan.next_wave()) == 1
    with pytest.raises(PlanError, match="the root of the scan does not answer"):
        scan.next_wave()


def test_frames_that_answer_nothing_are_counted() -> None:
    scan = TopologyScan()
    scan.next_wave()
    scan.receive(b"\0" * 60)
    assert scan.discovered.unexpected == 1
    assert scan.discovered.nodes == {}


def test_a_false_answer_leaves_the_request_open_for_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(
        [
            Answer(0, guid=1, class_code=0, ports=1, port=0, sent_by=0),
            Answer(1, guid=2, class_code=0, ports=1, port=1, sent_by=9),
            Answer(1, guid=2, class_code=0, ports=1, port=1, sent_by=1),
        ]
    )
    monkeypatch.setattr("controller.discovery.scan.read_answer", lambda _: next(answers))
    scan = TopologyScan()
    for wave in (1, 2):
        assert len(scan.next_wave()) == 1
        for _ in range(wave):
            scan.receive(b"")
    assert scan.discovered.unexpected == 1
    assert scan.discovered.links == {(1, 1): (2, 1), (2, 1): (1, 1)}
