# SPDX-License-Identifier: Apache-2.0
"""Graph families against the numbers of their papers: nodes, ports, diameter, bisection."""

import itertools
import random
from collections import Counter

import networkx as nx
import pytest

from topologies import (
    Fabric,
    TopologyError,
    bcube,
    dragonfly,
    dragonfly_plus,
    fat_tree,
    hpn,
    hyperx,
    jellyfish,
    slim_fly,
    torus,
)
from topologies.model.checks import check, lane_audit
from topologies.model.cuts import halvings, rate_between
from topologies.model.graphs import from_graph

GBPS = 10**9


def switches(fabric: Fabric) -> nx.Graph:
    """Return the graph of the switches; of all nodes where there are none."""
    names = [node.name for node in fabric.switches] or [node.name for node in fabric.nodes]
    return fabric.graph().subgraph(names)


def endpoints(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.endpoints]


def radix(fabric: Fabric) -> set[int]:
    return {len(node.ports) for node in fabric.switches}


def bisection_links(fabric: Fabric) -> float:
    """Return the least number of links between two equal halves of the endpoints, over `halvings`."""
    parts = ((a, b) for a, b in halvings(fabric) if abs(len(a) - len(b)) <= 1)
    return min(rate_between(fabric, a, b) for a, b in parts) / fabric.links[0].rate_bps


@pytest.mark.parametrize(
    ("fabric", "hosts", "routers", "ports", "diameter"),
    [
        # Dragonfly p = 2, a = 4, h = 2: 72 terminals, 9 groups, radix p + a + h - 1 (ISCA 2008, figure 5).
        (dragonfly(4, hosts=2, global_links=2), 72, 36, {7}, 3),
        # p = 1, a = 2, h = 1: 3 groups.
        (dragonfly(2, hosts=1, global_links=1), 6, 6, {3}, 3),
        # Dragonfly+ of switches with k = 4 ports: k/2 leaves, spines, hosts and global links each, k^2/4 + 1
        # groups of k^2/4 hosts. Its diameter counts spines of different groups, see below.
        (dragonfly_plus(2, spines=2, hosts=2, global_links=2), 20, 20, {4}, 4),
        # HyperX: diameter is the number of dimensions, radix T + sum (S - 1) (SC 2009).
        (hyperx((4, 4), hosts=2), 32, 16, {8}, 2),
        (hyperx((2, 3, 4), hosts=1), 24, 24, {7}, 3),
        # Fat tree: k^3/4 hosts, 5 k^2/4 switches; edge to edge over a core is four links (SIGCOMM 2008).
        (fat_tree(4), 16, 20, {4}, 4),
        (fat_tree(6), 54, 45, {6}, 4),
        # Slim Fly: 2 q^2 routers, degree (3 q - delta)/2, diameter 2 (SC 2014); q = 5 is Hoffman-Singleton.
        (slim_fly(5, hosts=1), 50, 50, {8}, 2),
        (slim_fly(7, hosts=1), 98, 98, {12}, 2),
    ],
    ids=lambda value: value.name if isinstance(value, Fabric) else None,
)
def test_switches_have_the_numbers_of_the_papers(
    fabric: Fabric, hosts: int, routers: int, ports: set[int], diameter: int
) -> None:
    check(fabric)
    graph = switches(fabric)
    assert (len(endpoints(fabric)), len(graph)) == (hosts, routers)
    assert (radix(fabric), nx.diameter(graph)) == (ports, diameter)
    assert all(use.unconnected <= 1 for use in lane_audit(fabric).values())


def test_a_hoffman_singleton_graph_has_girth_5() -> None:
    graph = switches(slim_fly(5, hosts=0))
    assert set(dict(graph.degree).values()) == {7}
    assert nx.girth(graph) == 5


@pytest.mark.parametrize(
    ("dims", "wrap", "diameter", "bisection"),
    [
        # Diameter n k/2, and 2 k^(n-1) links between halves of a k-ary n-cube (Dally 1990), half in a mesh.
        ((4, 4), True, 4, 8),
        ((8, 9), True, 8, 18),
        ((4, 4, 4), True, 6, 32),
        ((4, 4), False, 6, 4),
        ((2, 2, 2, 2), True, 4, 8),
    ],
)
def test_tori_have_the_diameter_and_bisection_of_cubes(
    dims: tuple[int, ...], wrap: bool, diameter: int, bisection: int
) -> None:
    fabric = torus(dims, wrap=wrap)
    check(fabric)
    assert nx.diameter(fabric.graph()) == diameter
    assert bisection_links(fabric) == bisection


def test_leaves_of_a_dragonfly_plus_are_three_links_apart_at_most() -> None:
    fabric = dragonfly_plus(3, spines=3, hosts=3, global_links=3)
    check(fabric)
    leaves = [node.name for node in fabric.nodes if node.tier == 1]
    lengths = dict(nx.all_pairs_shortest_path_length(switches(fabric)))
    assert max(lengths[a][b] for a in leaves for b in leaves) == 3
    # k^4/16 hosts and k^2/4 more (k = 6), between every two groups one link.
    assert len(endpoints(fabric)) == 6**4 // 16 + 6**2 // 4
    between = Counter(
        tuple(sorted((link.a.node.partition("s")[0], link.b.node.partition("s")[0])))
        for link in fabric.links
        if {fabric.node(link.a.node).tier, fabric.node(link.b.node).tier} == {2}
    )
    assert len(between) == 10 * 9 // 2
    assert set(between.values()) == {1}
    # Between groups 0 to 4 and 5 to 9 there are 25 global links.
    low = [name for name in endpoints(fabric) if int(name[1]) < 5]
    assert rate_between(fabric, low, set(endpoints(fabric)) - set(low)) == 25 * 400 * GBPS


def test_halves_of_switched_fabrics_carry_what_the_papers_say() -> None:
    # A fat tree has full bisection, BCube half of its servers, HyperX (S/2)^2 links a line.
    assert bisection_links(fat_tree(4)) == 8
    assert bisection_links(bcube(4)) == 8
    assert bisection_links(hyperx((4, 4), hosts=4)) == 16
    # Between groups 0 to 3 and 4 to 8 of a Dragonfly there are 20 global links.
    fly = dragonfly(4, hosts=2, global_links=2)
    low = [name for name in endpoints(fly) if int(name[1]) < 4]
    assert rate_between(fly, low, set(endpoints(fly)) - set(low)) == 20 * 400 * GBPS


@pytest.mark.parametrize(("ports", "levels"), [(4, 2), (2, 3), (8, 1)])
def test_bcube_servers_differ_in_a_digit_over_a_switch(ports: int, levels: int) -> None:
    fabric = bcube(ports, levels=levels)
    check(fabric)
    kinds = Counter(node.is_switch for node in fabric.nodes)
    assert kinds == {False: ports**levels, True: levels * ports ** (levels - 1)}
    # Diameter k + 1 in switches passed, two links each (SIGCOMM 2009).
    ends = endpoints(fabric)
    lengths = nx.single_source_shortest_path_length(fabric.graph(), ends[0])
    assert max(lengths[name] for name in ends) == 2 * levels


def test_jellyfish_is_regular_connected_and_drawn_by_seed() -> None:
    fabric = jellyfish(20, degree=4, hosts=2, seed=3)
    assert set(dict(switches(fabric).degree).values()) == {4}
    assert fabric == jellyfish(20, degree=4, hosts=2, seed=3) != jellyfish(20, degree=4, hosts=2, seed=4)


def test_fewer_groups_of_a_dragonfly_have_several_global_links() -> None:
    fabric = dragonfly(4, hosts=0, global_links=2, groups=5)
    check(fabric)
    between = Counter(tuple(sorted((link.a.node[1], link.b.node[1]))) for link in fabric.links)
    assert {count for (a, b), count in between.items() if a != b} == {2}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: dragonfly(2, global_links=1, groups=4), "join up to 3; give 2 to 3 groups"),
        (lambda: dragonfly_plus(2, global_links=1, groups=4), "join up to 3; give 2 to 3 groups"),
        (
            lambda: fat_tree(5),
            "fat-tree: ports is 5, which is not an even number above 0; give an even number of ports",
        ),
        (
            lambda: slim_fly(9),
            "slim-fly: q is 9, for which there is no Slim Fly; give a prime, such as 5, 7, 11, 13 or 17",
        ),
        (
            lambda: jellyfish(5, degree=3),
            "jellyfish: 5 switches cannot all have degree 3; give a degree below the number of",
        ),
    ],
)
def test_impossible_parameters_are_refused(build, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        build()


def test_rates_without_a_large_common_divisor_add_up_exactly() -> None:
    fabric = hpn(1, 2, 8)
    first, *others = endpoints(fabric)
    leaving = sum(link.rate_bps for link in fabric.links if first in (link.a.node, link.b.node))
    assert rate_between(fabric, [first], others) == leaving > 2**40


@pytest.mark.parametrize("seed", range(5))
def test_a_rate_between_sides_is_that_of_the_least_cut(seed: int) -> None:
    draw = random.Random(seed)
    graph = nx.gnm_random_graph(8, 14, seed=seed)
    for _, _, edge in graph.edges(data=True):
        edge["rate_gbps"] = draw.randint(1, 10**12) / 1e9
    graph.remove_nodes_from(list(nx.isolates(graph)))
    fabric = from_graph(nx.relabel_nodes(graph, {node: f"n{node}" for node in graph}), "random")
    names = [node.name for node in fabric.nodes]
    flows = nx.Graph()
    for link in fabric.links:
        flows.add_edge(link.a.node, link.b.node, capacity=link.rate_bps)
    for a, b in itertools.combinations(names, 2):
        assert rate_between(fabric, [a], [b]) == nx.maximum_flow_value(flows, a, b)
