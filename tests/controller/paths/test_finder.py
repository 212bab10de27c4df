# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

import networkx as nx
import pytest

from controller.paths.finder import PathFinder, distance
from topologies import Fabric, TopologyError, full_mesh


def test_counts_of_a_pair(rack: Fabric) -> None:
    finder = PathFinder(rack)
    # Same line: direct, 6 of two hops, 37 of three. Both coordinates differ: 2 of two hops, 36 of three.
    assert [len(finder.paths_of_length("npu0", "npu5", hops)) for hops in (1, 2, 3)] == [1, 6, 37]
    assert [len(finder.paths_of_length("npu0", "npu56", hops)) for hops in (1, 2, 3)] == [1, 6, 37]
    assert [len(finder.paths_of_length("npu0", "npu13", hops)) for hops in (1, 2, 3)] == [0, 2, 36]


def test_counts_of_the_rack(rack: Fabric) -> None:
    finder = PathFinder(rack)
    names = [node.name for node in rack.nodes]
    totals = [
        sum(
            len(finder.paths_of_length(source, destination, hops))
            for source in names
            for destination in names
        )
        for hops in (1, 2, 3)
    ]
    assert totals == [896, 11_648, 146_048]


@pytest.mark.parametrize("dims", [[4], [3, 3], [2, 2, 2], [3, 2, 2]])
def test_paths_are_all_simple_paths_of_the_graph(dims: list[int]) -> None:
    mesh = full_mesh(dims)
    finder, graph = PathFinder(mesh), mesh.graph()
    for destination in [node.name for node in mesh.nodes][1:]:
        result = finder.paths_up_to("npu0", destination, max_hops=4)
        assert len(result) == len(set(result))
        assert set(result) == set(map(tuple, nx.all_simple_paths(graph, "npu0", destination, cutoff=4)))


def test_order_is_fewest_hops_then_egress_ports(rack: Fabric) -> None:
    finder = PathFinder(rack)
    assert finder.paths_up_to("npu0", "npu1", 2) == [
        ("npu0", "npu1"),
        *(("npu0", f"npu{middle}", "npu1") for middle in range(2, 8)),
    ]
    # X before Y.
    assert finder.paths_of_length("npu0", "npu9", 2) == [("npu0", "npu1", "npu9"), ("npu0", "npu8", "npu9")]
    result = finder.paths_up_to("npu3", "npu42", 3)
    keys = [(len(path), [rack.port_to(*hop) for hop in pairwise(path)]) for path in result]
    assert keys == sorted(keys)


def test_failed_links_carry_no_path(rack: Fabric) -> None:
    whole, cut = PathFinder(rack), PathFinder(rack, {"npu0-npu1"})
    dead = [path for path in whole.paths_up_to("npu0", "npu9", 3) if not cut.is_alive(path)]
    assert ("npu0", "npu1", "npu9") in dead
    assert cut.paths_up_to("npu0", "npu9", 3) == [
        path for path in whole.paths_up_to("npu0", "npu9", 3) if path not in dead
    ]
    assert not cut.has_link("npu1", "npu0")
    assert cut.has_link("npu1", "npu2")


def test_a_failed_link_that_does_not_exist_is_refused(rack: Fabric) -> None:
    with pytest.raises(TopologyError, match="no link named 'npu0-npu9'"):
        PathFinder(rack, {"npu0-npu9"})


def test_there_is_no_path_to_oneself(rack: Fabric) -> None:
    assert PathFinder(rack).paths_up_to("npu4", "npu4", 3) == []
    assert distance(rack, "npu4", "npu4") == 0
    assert distance(rack, "npu0", "npu63") == 2
