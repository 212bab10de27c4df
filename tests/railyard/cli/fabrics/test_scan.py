# SPDX-License-Identifier: Apache-2.0
"""railyard scan: text, JSON, exit codes."""

import json


def test_a_fabric_as_planned(railyard) -> None:
    code, out, _ = railyard("scan", "full-mesh", "--dims", "4x4")
    assert code == 0
    assert "16 nodes, 48 links, 0 dark ports; 49 requests" in out
    assert "equal to the plan, port by port" in out


def test_exchanged_cables(railyard) -> None:
    code, out, _ = railyard("scan", "full-mesh", "--dims", "4x4", "--swap", "npu0-npu1", "npu5-npu6")
    assert code == 1
    assert "two cables are exchanged: port 1 of npu0 leads to port 2 of npu6 instead of port 1 of npu1" in out
    assert "1 difference from the plan" in out


def test_a_missing_cable_as_json(railyard) -> None:
    code, out, _ = railyard(
        "scan", "full-mesh", "--dims", "4", "--root", "npu2", "--unplug", "npu0-npu1", "--json"
    )
    assert code == 1
    document = json.loads(out)
    assert document["nodes"][0]["name"] == "npu2"
    assert len(document["links"]) == 5
    assert sorted(document["dark"]) == [["npu0", 1], ["npu1", 1]]
    (finding,) = document["findings"]
    assert finding["kind"] == "missing"
    assert sorted(finding["ends"]) == [["npu0", 1], ["npu1", 1]]


def test_refusals(railyard) -> None:
    code, _, err = railyard("scan", "full-mesh", "--dims", "4", "--swap", "npu0-npu1", "npu0-npu1")
    assert code == 2
    assert "exchanged with itself" in err
    code, _, err = railyard("scan", "full-mesh", "--dims", "4", "--root", "npu9")
    assert code == 2
    assert "npu9" in err
