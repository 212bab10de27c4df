# SPDX-License-Identifier: Apache-2.0

from controller import Exact, Lpm
from controller.forwarding.next_hop import next_hop, table_path
from controller.schemes.registry import rule_set, scheme_for
from controller.schemes.scheme import Scheme
from topologies import Fabric, full_mesh


def linear(scheme: Scheme, node: str) -> dict[int, int]:
    result = {}
    for entry in scheme.address_entries(node):
        if entry.table == "linear":
            match = entry.match[0][1]
            assert isinstance(match, Exact)
            result[match.value] = entry.params[0][1]
    return result


def test_an_npu_of_the_rack_has_two_segments_and_sixteen_members(rack: Fabric) -> None:
    entries = scheme_for(rack).address_entries("npu10")
    segments = [entry for entry in entries if entry.table == "segment"]
    # npu10 is slot 2 of board 1: its board by 13 bits, its rack by 10.
    assert [(entry.match[0][1], dict(entry.params)) for entry in segments] == [
        (Lpm(0b1_000, 13), {"base": 0, "shift": 0, "mask": 7}),
        (Lpm(0, 10), {"base": 8, "shift": 3, "mask": 7}),
    ]
    # By slot, then by board; its own slot and board lead to itself.
    assert linear(scheme_for(rack), "npu10") == dict(
        enumerate([1, 2, 0, 3, 4, 5, 6, 7, 8, 0, 9, 10, 11, 12, 13, 14])
    )


def test_arrays_of_odd_dimensions_do_not_overlap() -> None:
    mesh = full_mesh([3, 5])
    entries = scheme_for(mesh).address_entries("npu0")
    bases = [dict(entry.params)["base"] for entry in entries if entry.table == "segment"]
    assert bases == [0, 4]
    assert sorted(linear(scheme_for(mesh), "npu0")) == [0, 1, 2, 4, 5, 6, 7, 8]


def test_tables_resolve_the_last_dimension_first(rack: Fabric) -> None:
    scheme = scheme_for(rack)
    assert table_path(scheme, "npu0", "npu63") == ("npu0", "npu56", "npu63")
    assert table_path(scheme, "npu0", "npu7") == ("npu0", "npu7")
    assert next_hop(scheme, "npu5", "npu5") is None


def test_a_member_behind_a_dead_link_is_reached_over_a_live_neighbour(rack: Fabric) -> None:
    scheme = scheme_for(rack, failed={"npu2-npu5"})
    assert table_path(scheme, "npu2", "npu5") == ("npu2", "npu3", "npu5")
    assert table_path(scheme, "npu5", "npu2") == ("npu5", "npu3", "npu2")
    changed = linear(scheme, "npu2").items() ^ linear(scheme_for(rack), "npu2").items()
    assert {index for index, _ in changed} == {5}
    assert linear(scheme, "npu3") == linear(scheme_for(rack), "npu3")


def test_the_neighbour_has_a_live_link_too(rack: Fabric) -> None:
    scheme = scheme_for(rack, failed={"npu2-npu5", "npu3-npu5", "npu2-npu4"})
    assert table_path(scheme, "npu2", "npu5") == ("npu2", "npu6", "npu5")


def test_detours_avoid_valleys_where_they_can(rack: Fabric) -> None:
    rules = rule_set("T1-UD", rack)
    for link in rack.links:
        scheme = scheme_for(rack, failed={link.name})
        axis = link.dimension
        assert axis is not None
        for node, neighbour in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
            path = table_path(scheme, node, neighbour)
            assert len(path) == 3
            highest = {
                rack.node(node).coordinates[axis],
                rack.node(neighbour).coordinates[axis],
            }
            assert (rules.vls_of(rack, path) is not None) == (highest != {6, 7})


def test_without_a_live_neighbour_there_is_no_entry() -> None:
    mesh = full_mesh([2, 2])
    scheme = scheme_for(mesh, failed={"npu0-npu1"})
    assert sorted(linear(scheme, "npu0")) == [0, 2, 3]
    # npu2 sends along the last dimension first, to npu0, and there it ends.
    assert table_path(scheme, "npu2", "npu1") == ("npu2", "npu0")
