# SPDX-License-Identifier: Apache-2.0
import json
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from topologies import (
    End,
    Fabric,
    Node,
    OpticalSwitch,
    TopologyError,
    full_mesh,
    optical_rings,
    rail_only,
    with_circuits,
)
from topologies.model.checks import LaneUse, check, lane_audit, problems
from topologies.model.circuits import circuit_link, circuit_of, circuits_of, crossconnect
from topologies.model.codec import from_json, to_json
from topologies.model.computed_once import computed_for_any_circuits

RINGS = optical_rings(4, ports=4)
(OCS,) = RINGS.optical


def changed(**changes) -> Fabric:
    return replace(RINGS, optical=(replace(OCS, **changes),))


def with_link(number: int, **changes) -> Fabric:
    links = list(RINGS.links)
    links[number] = replace(links[number], **changes)
    return replace(RINGS, links=tuple(links))


# Fabrics with circuits


@pytest.mark.parametrize(
    ("npus", "ports", "steps"), [(2, 2, [1]), (3, 2, [1]), (4, 4, [1, 1]), (8, 6, [1, 3, 1])]
)
def test_rings_lead_around_plane_by_plane(npus: int, ports: int, steps: list[int]) -> None:
    fabric = optical_rings(npus, ports=ports)
    check(fabric)
    assert len(fabric.links) == npus * ports // 2
    for plane, step in enumerate(steps):
        seen, at = [], "npu0"
        while at not in seen:
            seen.append(at)
            peer = fabric.peer(at, 2 * plane + 1)
            assert peer is not None
            assert peer.port == 2 * plane + 2
            at = peer.node
        assert at == "npu0"
        assert [int(name[3:]) for name in seen] == [i * step % npus for i in range(npus)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"npus": 1}, "npus is 1; give a whole number from 2 to 8192"),
        ({"npus": 9000}, "npus is 9000"),
        (
            {"npus": 4, "ports": 3},
            "ports is 3, which is not an even number up to 254; give an even number up to 254: a ring",
        ),
        ({"npus": 4, "ports": 0}, "ports is 0"),
        ({"npus": 4, "ports": 256}, "ports is 256"),
        ({"npus": 4, "lanes": 0}, "lanes is 0; give a whole number of at least 1"),
    ],
)
def test_rings_that_cannot_be_say_what_can(settings: dict[str, int], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        optical_rings(**settings)


def test_a_circuit_is_a_link_named_by_the_ports_it_joins() -> None:
    link = circuit_link(RINGS, "ocs0", (3, 9))
    assert (link.name, link.a, link.b) == ("ocs0:3-9", End("npu0", 4), End("npu2", 2))
    assert (link.lanes, link.rate_bps, link.delay_ps) == (4, OCS.rate_bps, OCS.delay_ps)
    assert circuit_of(RINGS, "ocs0:3-9") == ("ocs0", (3, 9))


@pytest.mark.parametrize(
    "name",
    ["npu0-npu1", "ocs0:9-3", "ocs0:3-16", "ocs0:03-9", "ocs0:3-3", "ocs1:3-9", "ocs0:3", "ocs0:3-", "3-9"],
)
def test_other_names_are_no_circuits(name: str) -> None:
    assert circuit_of(RINGS, name) is None


def test_with_circuits_is_what_is_joined_and_nothing_else() -> None:
    fabric = with_circuits(RINGS, "ocs0", {0: 4, 8: 12})
    assert [link.name for link in fabric.links] == ["ocs0:0-4", "ocs0:8-12"]
    assert crossconnect(fabric, "ocs0") == {0: 4, 4: 0, 8: 12, 12: 8}
    assert fabric.peer("npu0", 1) == End("npu1", 1)
    assert fabric.peer("npu0", 2) is None
    assert problems(fabric) == []  # what is dark now may be joined later
    assert with_circuits(fabric, "ocs0", crossconnect(RINGS, "ocs0")) == RINGS


def test_it_does_not_show_in_what_order_circuits_were_made() -> None:
    mesh = full_mesh([3], lanes=2)
    own = tuple(End(f"npu{i}", 1) for i in range(3))
    rest = tuple(End(f"npu{i}", 2) for i in range(3))
    switches = tuple(OpticalSwitch(name, ends, 2, 8, 0) for name, ends in (("b", own), ("a", rest)))
    bare = replace(mesh, links=(), optical=switches)
    chance = random.Random(1)
    goal = {"b": {0: 2}, "a": {1: 2}}
    fabrics = []
    for _ in range(10):
        fabric = bare
        for _ in range(5):
            low, high = sorted(chance.sample(range(3), 2))
            fabric = with_circuits(fabric, chance.choice("ab"), {low: high})
        for name in chance.sample(sorted(goal), 2):
            fabric = with_circuits(fabric, name, goal[name])
        fabrics.append(fabric)
    assert all(fabric == fabrics[0] for fabric in fabrics)
    assert [link.name for link in fabrics[0].links] == ["b:0-2", "a:1-2"]


@computed_for_any_circuits
def nodes_by_name(fabric: Fabric) -> dict[str, Node]:
    return {node.name: node for node in fabric.nodes}


def test_fabrics_that_differ_in_circuits_share_results() -> None:
    fabric = with_circuits(RINGS, "ocs0", {0: 4})
    again = with_circuits(fabric, "ocs0", {8: 12})
    assert again.origin is fabric.origin
    assert nodes_by_name(again) is nodes_by_name(fabric)
    assert nodes_by_name(replace(again)) is not nodes_by_name(fabric)


def test_circuits_between_tiers_share_no_results() -> None:
    rails = rail_only(2, 2)
    up = next(link for link in rails.links if rails.node(link.a.node).tier != rails.node(link.b.node).tier)
    fabric = replace(rails, optical=(OpticalSwitch("ocs0", (up.a, up.b), 2, 8, 0),))
    joined = with_circuits(fabric, "ocs0", {})
    assert joined.origin is joined
    assert nodes_by_name(joined) is not nodes_by_name(fabric)


def test_other_links_stay_where_they_are() -> None:
    mesh = full_mesh([3])
    nodes = tuple(
        replace(node, ports=(*node.ports, replace(node.ports[1], number=3, name="o"))) for node in mesh.nodes
    )
    ocs = OpticalSwitch("ocs0", tuple(End(node.name, 3) for node in nodes), 4, 400_000_000_000, 10)
    fabric = with_circuits(replace(mesh, nodes=nodes, optical=(ocs,)), "ocs0", {1: 2})
    check(fabric)
    assert fabric.links[:-1] == mesh.links
    assert fabric.links[-1].name == "ocs0:1-2"
    assert fabric.port_to("npu1", "npu2") == 2  # the first of two that lead there
    assert lane_audit(fabric)["npu0"] == LaneUse(12, 72)  # with the fibre that is dark


@pytest.mark.parametrize(
    ("joined", "message"),
    [
        ({0: 4}, "ocs7 has no port 4; give a port from 0 to 3"),
        ({2: -1}, "ocs7 has no port -1; give a port from 0 to 3"),
        ({2: 2}, "ocs7: port 2 is joined to itself; leave the port out; it is dark then"),
        ({0: 1, 1: 2}, "ocs7: port 1 is joined to both 0 and 2; give each port one circuit at most"),
    ],
)
def test_a_crossconnect_that_cannot_be_is_refused(joined: Mapping[int, int], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        circuits_of("ocs7", 4, joined)


def test_circuits_may_be_given_from_either_end_or_both() -> None:
    assert circuits_of("o", 8, {5: 1, 1: 5, 7: 0}) == ((0, 7), (1, 5))
    assert circuits_of("o", 0, {}) == ()


def test_an_optical_switch_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(TopologyError, match="no optical switch named 'ocs1'; did you mean ocs0"):
        with_circuits(RINGS, "ocs1", {})
    with pytest.raises(TopologyError, match="no optical switch named 'ocs0'; it has none"):
        crossconnect(full_mesh([2]), "ocs0")


# Checks


@pytest.mark.parametrize(
    ("fabric", "problem"),
    [
        (replace(RINGS, optical=(OCS, OCS)), "optical switch name ocs0 is used more than once"),
        (changed(name="npu1"), "optical switch npu1: a node has that name"),
        (changed(ends=()), "optical switch ocs0: no ports"),
        (changed(rate_bps=0), "optical switch ocs0: rate of 0 bit/s"),
        (changed(delay_ps=-1), "optical switch ocs0: delay of -1 ps"),
        (changed(reconfiguration_ps=-1), "optical switch ocs0: reconfiguration time of -1 ps"),
        (changed(ends=(End("npu9", 1), *OCS.ends[1:])), "ocs0 port 0: no node named 'npu9'"),
        (changed(ends=(End("npu0", 9), *OCS.ends[1:])), "ocs0 port 0: npu0 has no port 9"),
        (changed(ends=(End("npu0", 0), *OCS.ends[1:])), "ocs0 port 0: leads to the host port of npu0"),
        (changed(lanes=2), "ocs0 port 0: x2, but port 1 of npu0 is x4"),
        (
            changed(ends=(*OCS.ends, OCS.ends[5])),
            "ocs0 port 5 and ocs0 port 16 both lead to port 2 of npu1",
        ),
        (with_link(0, name="a"), "link a: port 1 of npu0 leads to ocs0 port 0"),
        (
            with_link(0, rate_bps=7),
            "link ocs0:0-5: that circuit joins npu0 port 1 and npu1 port 2, x4 at 400000000000 bit/s",
        ),
        (with_link(0, name="ocs0:0-4"), "link ocs0:0-4: that circuit joins npu0 port 1 and npu1 port 1, x4"),
        (with_circuits(RINGS, "ocs0", {0: 1}), "link ocs0:0-1: both ends on npu0"),
    ],
)
def test_each_problem_is_found_and_named(fabric: Fabric, problem: str) -> None:
    assert any(words.startswith(problem) for words in problems(fabric)), problems(fabric)


def test_parts_that_an_optical_switch_could_join_are_one() -> None:
    assert problems(with_circuits(RINGS, "ocs0", {})) == []
    some = tuple(end for end in OCS.ends if end.node != "npu3")
    alone = replace(with_circuits(RINGS, "ocs0", {}), optical=(replace(OCS, ends=some),))
    assert "npu3: port 1 (on0) has no link" in problems(alone)
    assert "no path joins npu3 to npu0" in problems(alone)


# As JSON


def test_a_fabric_with_circuits_survives_json() -> None:
    for fabric in (RINGS, with_circuits(RINGS, "ocs0", {0: 15})):
        assert from_json(to_json(fabric)) == fabric


def test_a_document_without_optical_switches_has_no_word_of_them() -> None:
    assert "optical" not in json.loads(to_json(full_mesh([2])))


def test_a_document_with_a_wrong_optical_switch_says_where() -> None:
    document = json.loads(to_json(RINGS))
    document["optical"][0]["mirrors"] = 1
    document["optical"][0]["ends"][3]["port"] = "x"
    with pytest.raises(TopologyError) as caught:
        from_json(json.dumps(document))
    assert "optical.0.mirrors" in str(caught.value)
    assert "optical.0.ends.3.port" in str(caught.value)
