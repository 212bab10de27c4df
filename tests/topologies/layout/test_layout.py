# SPDX-License-Identifier: Apache-2.0
"""Layouts: every node has a place of its own, where its level, rack and board say."""

import pytest

from topologies import Fabric
from topologies.families.registry import find
from topologies.layout.layout import layout
from topologies.model.places import racks


def fabric(name: str, **parameters: object) -> Fabric:
    return find(name).build(**parameters)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ub-rack", {}),
        ("ub-rack-lrs", {}),
        ("ub-pod", {}),
        ("rail-only", {}),
        ("hpn", {}),
        ("lumos", {}),
        ("torus", {"dims": (4, 3, 2)}),
        ("dragonfly", {}),
        ("fat-tree", {}),
    ],
)
def test_every_node_has_a_place_of_its_own(name: str, parameters: dict[str, object]) -> None:
    built = fabric(name, **parameters)
    places = layout(built).places
    assert set(places) == {part.name for part in (*built.nodes, *built.optical)}
    assert len(set(places.values())) == len(places)


def test_a_rack_of_64_stands_in_its_two_dimensions() -> None:
    built = fabric("ub-rack")
    assert layout(built).places == {
        node.name: tuple(map(float, node.coordinates[:2])) for node in built.nodes
    }


def test_higher_tiers_stand_above_lower_ones_and_optical_switches_on_top() -> None:
    built = fabric("lumos")
    places = layout(built).places
    lowest: dict[int, float] = {}
    for node in built.nodes:
        lowest[node.tier] = max(lowest.get(node.tier, -99.0), places[node.name][1])
    tiers = sorted(tier for tier in lowest if tier != 1)
    assert [lowest[tier] for tier in tiers] == sorted((lowest[tier] for tier in tiers), reverse=True)
    top = min(places[node.name][1] for node in built.nodes)
    assert all(places[switch.name][1] < top for switch in built.optical)


def test_a_pod_has_a_box_for_each_rack_with_the_nodes_of_that_rack_inside() -> None:
    built = fabric("ub-pod")
    drawn = layout(built)
    assert [set(group.nodes) for group in drawn.groups] == [{n.name for n in rack} for rack in racks(built)]
    for group in drawn.groups:
        (left, top), (width, height) = group.place, group.size
        for name in group.nodes:
            x, y = drawn.places[name]
            assert left <= x <= left + width
            assert top <= y <= top + height


@pytest.mark.long
def test_pods_of_a_superpod_stand_side_by_side_and_hrs_above_all() -> None:
    built = fabric("ub-superpod")
    drawn = layout(built)
    pods = [group for group in drawn.groups if group.kind == "Pod"]
    assert [len(group.nodes) for group in pods] == [2208] * 8
    assert len({group.place[0] for group in pods}) == 4
    hrs = [node.name for node in built.nodes if node.name.startswith("hrs")]
    highest = min(group.place[1] for group in pods)
    assert hrs
    assert all(drawn.places[name][1] < highest for name in hrs)
