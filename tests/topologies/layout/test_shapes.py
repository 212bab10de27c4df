"""Layouts of graphs: own fabrics and families without coordinates are drawn by their structure."""

from math import dist, hypot

import networkx as nx
import pytest

from topologies import Fabric, TopologyError, ecmp_clos, from_graph
from topologies.families.registry import find
from topologies.layout.layout import layout
from topologies.layout.values import Layout
from topologies.model.codec import from_json, to_json

# Two circles of a drawing overlap below this distance.
DIAMETER = 0.36


def fabric(name: str, **parameters: object) -> Fabric:
    return find(name).build(**parameters)


def graph(edges: list[tuple[str, str]], switches: str = "s", **tiers: int) -> Fabric:
    own_graph = nx.Graph(edges)
    for node, data in own_graph.nodes(data=True):
        if node[0] in switches:
            data.update(kind="switch", tier=tiers.get(node[0], 1))
    return from_graph(own_graph, "own")


def row(drawn: Layout, names: list[str]) -> list[float]:
    return [drawn.places[name][1] for name in names]


FAMILIES = [
    ("fat-tree", {}),
    ("fat-tree", {"ports": 8}),
    ("dragonfly", {}),
    ("dragonfly-plus", {}),
    ("hyperx", {}),
    ("hyperx", {"dims": (3, 3, 2), "hosts": 1}),
    ("hyperx", {"hosts": 8}),
    ("jellyfish", {}),
    ("slim-fly", {}),
    ("bcube", {}),
    ("bcube", {"levels": 3}),
]


@pytest.mark.parametrize(("name", "parameters"), FAMILIES)
def test_nodes_of_a_family_stand_apart_in_a_picture_that_is_no_line(
    name: str, parameters: dict[str, object]
) -> None:
    built = fabric(name, **parameters)
    drawn = layout(built)
    spots = [drawn.places[node.name] for node in built.nodes]
    assert min(dist(a, b) for at, a in enumerate(spots) for b in spots[:at]) >= DIAMETER
    width, height = (max(axis) - min(axis) for axis in zip(*spots, strict=True))
    assert 0.1 < height / width < 3
    assert set(drawn.bends) == {link.name for link in built.links}


@pytest.mark.parametrize(("name", "parameters"), FAMILIES)
def test_few_links_run_through_the_middle_of_a_third_node(name: str, parameters: dict[str, object]) -> None:
    built = fabric(name, **parameters)
    drawn = layout(built)
    hidden = 0
    for link in built.links:
        a, b, control = drawn.places[link.a.node], drawn.places[link.b.node], drawn.bends[link.name]
        curve = [
            tuple(
                (1 - t) ** 2 * p + 2 * t * (1 - t) * c + t**2 * q
                for p, c, q in zip(a, control, b, strict=True)
            )
            for t in (0.25, 0.5, 0.75)
        ]
        others = (place for node, place in drawn.places.items() if node not in (link.a.node, link.b.node))
        hidden += any(dist(place, point) < 0.1 for place in others for point in curve)
    assert hidden <= 0.1 * len(built.links)


def test_a_fat_tree_has_a_level_for_each_tier_and_npus_below_their_switch() -> None:
    built = fabric("fat-tree")
    drawn = layout(built)
    heights = {node.tier: set() for node in built.nodes}
    for node in built.nodes:
        heights[node.tier].add(drawn.places[node.name][1])
    assert all(len(heights[tier]) == 1 for tier in (1, 2, 3))
    assert [max(heights[tier]) for tier in range(4)] == sorted(
        (max(heights[tier]) for tier in range(4)), reverse=True
    )
    edge = drawn.places["edge1.0"]
    assert all(abs(drawn.places[f"npu1.0.{host}"][0] - edge[0]) < 1 for host in range(2))


def test_groups_of_a_dragonfly_have_boxes_that_do_not_meet() -> None:
    built = fabric("dragonfly")
    boxes = layout(built).groups
    assert [box.label for box in boxes] == [f"group {number}" for number in range(9)]
    assert {len(box.nodes) for box in boxes} == {12}
    for at, box in enumerate(boxes):
        for other in boxes[:at]:
            apart = [
                box.place[axis] + box.size[axis] < other.place[axis]
                or other.place[axis] + other.size[axis] < box.place[axis]
                for axis in (0, 1)
            ]
            assert any(apart), (box.label, other.label)


def test_a_ring_of_own_switches_is_a_circle_with_its_npus_outside() -> None:
    built = graph(
        [*((f"s{n}", f"s{(n + 1) % 5}") for n in range(5)), *((f"s{n}", f"n{n}") for n in range(5))]
    )
    places = layout(built).places
    radii = [hypot(*places[f"s{n}"]) for n in range(5)]
    assert max(radii) - min(radii) < 1e-9
    assert all(hypot(*places[f"n{n}"]) > radii[0] + 0.5 for n in range(5))


def test_a_tree_and_tiers_of_own_switches_are_levels() -> None:
    tree = graph(
        [("s", "sa"), ("s", "sb"), *((leaf, f"{leaf}-{n}") for leaf in ("sa", "sb") for n in range(3))]
    )
    below = row(layout(tree), ["s", "sa", "sa-0"])
    assert below == sorted(below)
    assert len(set(row(layout(tree), ["sa", "sb"]))) == 1
    pairs = [(leaf, spine) for leaf in ("la", "lb") for spine in ("sa", "sb", "sc")]
    hosts = [(f"n{n}", leaf) for n in range(4) for leaf in ("la", "lb")]
    clos = graph([*pairs, *hosts], "ls", l=1, s=2)
    below = row(layout(clos), ["sa", "la", "n0"])
    assert below == sorted(below)
    assert len(set(below)) == 3


def test_a_sparse_graph_brings_neighbours_near_each_other() -> None:
    own_graph = nx.grid_2d_graph(6, 5)
    built = from_graph(nx.relabel_nodes(own_graph, {at: f"n{at[0]}-{at[1]}" for at in own_graph}), "grid")
    places = layout(built).places
    longest = max(dist(places[link.a.node], places[link.b.node]) for link in built.links)
    assert longest < dist(places["n0-0"], places["n5-4"]) / 2
    assert layout(built) == layout(built)


def test_given_positions_and_groups_are_kept_through_json() -> None:
    own_graph: nx.Graph = nx.Graph()
    own_graph.add_edges_from([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")])
    for at, node in enumerate("abcd"):
        own_graph.nodes[node].update(
            x=100.0 * (at in (1, 2)), y=100 * (at > 1), group="left" if at in (0, 3) else "right"
        )
    built = from_graph(own_graph, "square")
    assert from_json(to_json(built)) == built
    drawn = layout(built)
    (ax, ay), (bx, by), (cx, cy), _ = (drawn.places[node] for node in "abcd")
    assert (ay, bx, cy > ay, bx > ax) == (by, cx, True, True)
    assert [(box.label, box.nodes) for box in drawn.groups] == [("left", ("a", "d")), ("right", ("b", "c"))]


@pytest.mark.parametrize(("x", "y"), [("left", 0), (1.0, None), (float("nan"), 1.0), (True, 1)])
def test_a_position_that_is_none_is_refused(x: object, y: object) -> None:
    own_graph = nx.Graph([("a", "b")])
    own_graph.nodes["a"].update({"x": x} | ({} if y is None else {"y": y}))
    with pytest.raises(
        TopologyError, match=r"node a: expected numbers x and y, got .*; give both, or neither"
    ):
        from_graph(own_graph, "own")


def test_a_clos_with_ecmp_has_a_row_for_each_tier_and_npus_below_their_tor() -> None:
    fabric = ecmp_clos()
    positions = layout(fabric).places
    rows = [
        {y for name, (_, y) in positions.items() if name.startswith(prefix)}
        for prefix in ("core", "agg", "tor", "npu")
    ]
    assert all(len(heights) == 1 for heights in rows)
    assert [min(heights) for heights in rows] == sorted(min(heights) for heights in rows)
    for number in range(8):
        sides = [positions[f"npu{2 * number + side}"][0] for side in range(2)]
        assert sides[0] < positions[f"tor{number}"][0] < sides[1]
