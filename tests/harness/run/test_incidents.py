# SPDX-License-Identifier: Apache-2.0
"""Incidents of runs: detected, told, rewritten, recovered, and ranks that stalled."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any

import pytest

import railyard
from harness.run.observation.incidents import Incident, incidents_of
from railyard import Result

BASE: Mapping[str, Any] = {
    "name": "told",
    "topology": {"name": "full-mesh", "dims": [4, 4]},
    "collective": {"elements": 262144},
    "link": {"detect_us": 1},
    "control": {"processing_us": 0.5},
    "transport": {"initial_rto_us": 20, "min_rto_us": 10},
}


def ran(*faults: Mapping[str, Any], **keys: Any) -> Result:
    variant = {"name": "run", "faults": list(faults)}
    return railyard.run({**BASE, **keys, "variants": [{"name": "healthy"}, variant]})


def told(result: Result) -> tuple[Incident, ...]:
    return incidents_of(result.runs["run"].observation)


@pytest.fixture(scope="module")
def flap() -> Result:
    return ran(
        {"at_us": 2, "link": "npu0-npu1"},
        {"at_us": 5, "port": "npu5:2", "event": "flap", "period_us": 4, "count": 2},
        {"at_us": 6, "link": "npu8-npu9", "event": "loss", "percent": 100},
        {"at_us": 14, "link": "npu0-npu1", "event": "up"},
        assertions=[
            {"metric": "run.faults[0].recovered_us", "max": 2.1},
            {"metric": "run.faults[1].nodes_told", "equals": 8},
            {"metric": "run.faults[2].recovered_us", "equals": 0},
            {"metric": "run.faults[3].recovered_us", "max": {"metric": "run.faults[0].recovered_us"}},
        ],
    )


def test_each_down_and_up_of_a_flap_is_told_by_itself(flap: Result) -> None:
    by_time = told(flap)
    assert [incident.at_ps / 10**6 for incident in by_time] == [2, 5, 6, 7, 9, 11, 14]
    assert [(incident.fault, incident.phase) for incident in by_time if incident.fault == 1] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 3),
    ]
    for incident in by_time:
        if incident.fault == 2:
            continue
        ends = {"npu0", "npu1"} if incident.fault in (0, 3) else {"npu5", "npu6"}
        assert set(incident.detected_by) == ends
        assert incident.detected_ps == incident.at_ps + 10**6
        assert incident.nodes_told == 8
        for node in incident.nodes:
            # An end knows after the detection, another node after the processing at an end and a path.
            assert node.learned_ps >= incident.at_ps + 10**6 + (0 if node.node in ends else 500_000)
            assert node.acted_ps == node.learned_ps + 500_000


def test_a_told_node_names_who_told_it(flap: Result) -> None:
    fabric = flap.fabric
    for incident in told(flap):
        for node in incident.nodes:
            assert bool(node.told_by) == (node.learns == "by a notice")
            # In direct mode only the ends of the link tell, the nearer one first.
            assert set(node.told_by) <= set(incident.detected_by)
            if node.told_by and set(fabric.neighbours(node.node)) & set(incident.detected_by):
                assert node.told_by[0] in fabric.neighbours(node.node)
    assert "told 8 nodes" in told(flap)[0].sentence


def test_flooded_news_goes_from_neighbour_to_neighbour() -> None:
    result = ran({"at_us": 2, "link": "npu0-npu1"}, routing={"notification": "flooding"})
    (cut,) = told(result)
    reached = {node.node: node for node in cut.nodes}
    assert set(reached) == {node.name for node in result.fabric.nodes}
    for node in cut.nodes:
        for teller in node.told_by:
            assert teller in result.fabric.neighbours(node.node)
            assert reached[teller].acted_ps < node.learned_ps
    assert set(cut.tellers) > {"npu0", "npu1"}


def test_a_reaction_counts_for_the_link_that_the_node_learned_of() -> None:
    """Two links fail before anybody can have been told of either."""
    result = ran({"at_us": 2, "link": "npu0-npu1"}, {"at_us": 2.2, "link": "npu10-npu14"})
    first, second = told(result)
    assert set(first.detected_by) == {"npu0", "npu1"}
    assert set(second.detected_by) == {"npu10", "npu14"}
    assert {name for node in first.nodes for name in node.told_by} == {"npu0", "npu1"}
    assert {name for node in second.nodes for name in node.told_by} == {"npu10", "npu14"}
    assert first.nodes_told == second.nodes_told == 8


def test_a_silent_link_has_no_reaction(flap: Result) -> None:
    (silent,) = [incident for incident in told(flap) if incident.fault == 2]
    assert silent.nodes == ()
    assert (silent.detected_ps, silent.recovered_ps) == (None, None)
    assert "no node noticed it by itself" in silent.sentence


def test_reactions_add_up_to_the_metrics(flap: Result) -> None:
    radius = flap.blast_radius("run")
    assert sum(row["notices"] for row in radius) == flap.metric("run", "notices")
    assert sum(row["entries_rewritten"] for row in radius) == flap.metric("run", "entries_rewritten")
    last = max(row["fault_us"] + row["recovered_us"] for row in radius if row["recovered_us"] is not None)
    assert last == pytest.approx(2 + flap.metric("run", "convergence_us"))


def test_assertions_are_about_each_fault(flap: Result) -> None:
    own = [item for item in flap.assertions() if "faults" in item["name"]]
    # Nobody notices the loss of fault 2, so its recovery has no time.
    assert [item["verdict"] for item in own] == ["holds", "holds", "fails", "holds"]
    assert own[2]["value"] == inf
    stored = {item["metric"]: item for item in json.loads(flap.to_json())["assertions"]}
    assert stored["run.faults[2].recovered_us"]["value"] is None
    assert not any("recovered_us" in key for key in flap.verdict.metrics)


def test_an_assertion_about_a_fault_that_is_not_there_is_refused() -> None:
    with pytest.raises(railyard.RailyardError, match=r"no metric 'run.faults\[1\].recovered_us'"):
        ran(
            {"at_us": 2, "link": "npu0-npu1"}, assertions=[{"metric": "run.faults[1].recovered_us", "max": 1}]
        )


def test_ranks_stall_until_a_lost_node_returns() -> None:
    result = ran(
        {"at_us": 1, "npu": "npu3"},
        {"at_us": 61, "npu": "npu3", "event": "up"},
    )
    down, _ = told(result)
    stalls = {rank.node: rank for rank in down.ranks}
    assert len(stalls) == 16
    # Nothing reaches the lost NPU from soon after the failure on.
    assert 55e6 < stalls["npu3"].stall_ps < 85e6
    ends = {row["node"]: row["finished_us"] for row in result.incident_ranks("run")}
    assert max(ends.values()) == result.metric("run", "completion_us")
    assert max(ends.values()) > 61
    assert result.incident_ranks("healthy") == []


def test_a_later_harmless_change_and_a_repair_take_no_stalls_from_a_fault() -> None:
    dead = {"at_us": 1, "npu": "npu3"}
    alone, _ = told(ran(dead, {"at_us": 61, "npu": "npu3", "event": "up"}))
    harmless = {"at_us": 4, "link": "npu8-npu9", "event": "delay", "add_ns": 1}
    first, second, repair = told(ran(dead, harmless, {"at_us": 61, "npu": "npu3", "event": "up"}))
    assert [rank.node for rank in first.stalled] == [rank.node for rank in alone.stalled]
    assert first.stall_ps == pytest.approx(alone.stall_ps, rel=0.01)
    assert second.stall_ps < first.stall_ps / 2
    assert repair.stall_ps == 0


def test_ends_that_miss_hellos_notice_a_silent_link() -> None:
    fault = {"at_us": 1, "link": "npu0-npu1", "event": "loss", "percent": 100}
    result = ran(fault, control={"hello_us": 1, "processing_us": 0.5})
    (incident,) = told(result)
    assert set(incident.detected_by) == {"npu0", "npu1"}
    assert incident.detected_ps is not None
    assert incident.detected_ps > 3 * 10**6  # hellos must be missing first
    assert incident.nodes_told > 0


def test_incidents_are_told_as_json(flap: Result) -> None:
    document = json.loads(flap.incidents_json())
    assert list(document["variants"]) == ["run"]
    first = document["variants"]["run"][0]
    assert first["text"] == "npu0-npu1 goes down"
    assert first["blast_radius"]["nodes_told"] == 8
    assert [node["node"] for node in first["nodes"][:2]] == ["npu0", "npu1"]
    assert [node["learned_us"] for node in first["nodes"][:2]] == [1, 1]
    assert first["jobs"][0]["finished_us"] == flap.metric("run", "completion_us")
    assert len(first["jobs"][0]["ranks"]) == 16


def test_the_report_has_incidents_of_variants_with_faults_only(flap: Result) -> None:
    page = flap.report()
    assert "<h2" in page
    assert "npu5:2 goes down (2 of a flap)" in page
    healthy = railyard.run({**BASE, "variants": [{"name": "healthy"}]})
    assert "Incidents" not in healthy.report()
    assert healthy.runs["healthy"].observation.trace is None
