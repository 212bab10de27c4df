# SPDX-License-Identifier: Apache-2.0
import pickle
from dataclasses import replace

import networkx as nx
import pytest

from topologies import HOST_PORT, End, NodeKind, TopologyError, from_graph, full_mesh, ub_rack


def test_rack_has_the_published_counts() -> None:
    rack = ub_rack()
    graph = rack.graph()
    assert len(rack.nodes) == 64
    assert len(rack.links) == 448
    assert {degree for _, degree in graph.degree()} == {14}
    assert nx.diameter(graph) == 2
    assert {node.kind for node in rack.nodes} == {NodeKind.NPU}


def test_index_counts_the_first_dimension_fastest() -> None:
    mesh = full_mesh([3, 2, 4])
    node = mesh.node("npu23")
    assert node.index == 23
    assert node.device_id == 24
    assert node.coordinates == (2, 1, 3)
    assert mesh.node("npu4").coordinates == (1, 1, 0)


def test_ports_follow_dimensions_then_coordinates() -> None:
    rack = ub_rack()
    # npu9 is slot 1 of board 1: X peers on ports 1..7, Y peers on 8..14.
    assert [rack.peer("npu9", port) for port in (1, 2, 7)] == [
        End("npu8", 1),
        End("npu10", 2),
        End("npu15", 2),
    ]
    assert [rack.peer("npu9", port) for port in (8, 9, 14)] == [
        End("npu1", 8),
        End("npu17", 9),
        End("npu57", 9),
    ]
    assert rack.neighbours("npu9")[:2] == ("npu8", "npu10")
    assert rack.port_to("npu9", "npu57") == 14
    assert rack.peer("npu9", HOST_PORT) is None
    assert rack.peer("npu9", 15) is None


def test_both_ends_of_every_link_find_each_other() -> None:
    mesh = full_mesh([3, 4, 2])
    for link in mesh.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            assert mesh.link_at(end.node, end.port) is link
            assert mesh.peer(end.node, end.port) == other
            assert mesh.port_to(end.node, other.node) == end.port
            assert link.far(end.node) == other


def test_links_are_named_by_the_lower_index_first_and_carry_their_lanes() -> None:
    rack = ub_rack(lane_rate_gbps=50, delay_ns=0.007)
    link = rack.link("npu1-npu57")
    assert (link.a.node, link.b.node, link.dimension) == ("npu1", "npu57", 1)
    assert link.rate_bps == 200_000_000_000
    assert link.delay_ps == 7
    assert all(int(link.a.node[3:]) < int(link.b.node[3:]) for link in rack.links)


@pytest.mark.parametrize(
    ("look_up", "message"),
    [
        (lambda rack: rack.node("npu64"), r"no node named 'npu64'; did you mean npu6"),
        (lambda rack: rack.node("gpu0"), r"no node named 'gpu0'"),
        (lambda rack: rack.link("npu0-npu9"), r"no link named 'npu0-npu9'; did you mean"),
        (lambda rack: rack.link("npu1-npu0"), r"no link named 'npu1-npu0'; did you mean npu0-npu1\?"),
        (
            lambda _: from_graph(nx.Graph([("tor-0", "spine-0"), ("tor-1", "spine-0")]), "own").link(
                "tor-1-spine-0"
            ),
            r"no link named 'tor-1-spine-0'; did you mean spine-0-tor-1\?",
        ),
        (
            lambda rack: rack.port_to("npu0", "npu9"),
            r"no link joins npu0 and npu9; name a neighbour of npu0: npu1",
        ),
        (lambda rack: rack.link("npu0-npu1").far("npu2"), r"link npu0-npu1 has no end at npu2"),
    ],
)
def test_unknown_names_are_named_with_what_exists(look_up, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        look_up(ub_rack())


def test_equal_parameters_make_equal_fabrics() -> None:
    assert ub_rack() == ub_rack()
    assert ub_rack() != ub_rack(lanes=2)


def test_a_fabric_survives_a_process_boundary() -> None:
    rack = pickle.loads(pickle.dumps(ub_rack()))
    assert rack == ub_rack()
    assert rack.node("npu3").address == 3
    assert rack.port_to("npu0", "npu8") == 8


@pytest.mark.parametrize(
    ("dims", "groups"),
    [([8], ((0,),)), ([8, 8], ((0, 1),)), ([3, 3, 3], ((2,), (0, 1))), ([8, 8, 4, 4], ((2, 3), (0, 1)))],
)
def test_groups_are_pairs_with_the_widest_place_first(dims: list[int], groups: tuple) -> None:
    assert full_mesh(dims).groups == groups


def test_hops_count_links_from_the_nearest_source() -> None:
    rack = ub_rack()
    hops = rack.hops_from(["npu0", "npu9"])
    graph = rack.graph()
    lengths = [nx.single_source_shortest_path_length(graph, source) for source in ("npu0", "npu9")]
    assert hops == {name: min(length[name] for length in lengths) for name in graph}
    assert list(hops.values()) == sorted(hops.values())
    with pytest.raises(TopologyError, match="no node named 'npu64'"):
        rack.hops_from(["npu64"])


def test_nodes_out_of_reach_have_no_hops() -> None:
    rack = ub_rack()
    rest = replace(rack, links=tuple(link for link in rack.links if "npu5" not in {link.a.node, link.b.node}))
    assert rest.hops_from(["npu5"]) == {"npu5": 0}
    assert "npu5" not in rest.hops_from(["npu0"])
