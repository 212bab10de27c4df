# SPDX-License-Identifier: Apache-2.0
"""Routes over any graph: free of deadlock, delivered by the tables, repaired after cuts."""

from collections.abc import Callable
from itertools import permutations

import networkx as nx
import pytest

from controller import DeadlockError, NodeController, PlanError, make_plan
from controller.deadlock.dependency_graph import find_cycle, permitted_graph
from controller.deadlock.ranks import ranks, relays
from controller.paths.graph.virtual_lanes import lanes_used, layers_needed, lengthened
from controller.plan.entry import BUCKETS, hops_of
from controller.plan.plan import Plan
from controller.recovery.messages import Mode
from controller.recovery.shared_schemes import SharedSchemes
from controller.schemes.graph import Graph
from controller.schemes.registry import rule_set
from controller.tables.segments import address_blocks
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import Fabric, bcube, from_graph, full_mesh, hyperx, jellyfish, slim_fly, torus, ub_rack
from topologies import dragonfly as dragonfly_family

SEEDS = range(50)


def dragonfly(groups: int, routers: int) -> nx.Graph:
    """Return groups that are full meshes, and a link between every two groups."""
    graph = nx.Graph()
    for group in range(groups):
        mesh = nx.complete_graph([f"g{group}r{router}" for router in range(routers)])
        graph.add_edges_from(mesh.edges)
        for other in range(group):
            graph.add_edge(f"g{group}r{other % routers}", f"g{other}r{(group - 1) % routers}")
    return graph


def fat_tree() -> nx.Graph:
    """Return the fat tree of switches with 4 ports and its 16 hosts."""
    graph = nx.Graph()
    for pod in range(4):
        for low in range(2):
            graph.add_node(f"e{pod}.{low}", kind="switch", tier=1)
            graph.add_edges_from((f"e{pod}.{low}", f"h{pod}.{low}.{host}") for host in range(2))
        for high in range(2):
            graph.add_node(f"a{pod}.{high}", kind="switch", tier=2)
            graph.add_edges_from((f"a{pod}.{high}", f"e{pod}.{low}") for low in range(2))
            for core in range(2):
                graph.add_node(f"c{high}.{core}", kind="switch", tier=3)
                graph.add_edge(f"a{pod}.{high}", f"c{high}.{core}")
    return graph


def hosts_of_ring(switches: int) -> nx.MultiGraph:
    """Return a ring of switches without tiers, every third link doubled, with a host at each switch."""
    graph = nx.MultiGraph()
    for switch in range(switches):
        graph.add_node(f"s{switch}", kind="switch")
        graph.add_edge(f"s{switch}", f"h{switch}", rate_gbps=100)
    for switch in range(switches):
        for _ in range(2 if switch % 3 == 0 else 1):
            graph.add_edge(f"s{switch}", f"s{(switch + 1) % switches}", delay_ns=50)
    return graph


GRAPHS: dict[str, Callable[[], nx.Graph]] = {
    "dragonfly": lambda: dragonfly(5, 4),
    "torus": lambda: nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5, periodic=True)),
    "fat tree": fat_tree,
    "ring of 16": lambda: nx.cycle_graph(16),
    "hosts of a ring": lambda: hosts_of_ring(7),
    "path of 14": lambda: nx.path_graph(14),
}


def regular(seed: int) -> nx.Graph:
    nodes = 8 + seed * 56 // 49
    return nx.random_regular_graph(4 if nodes % 2 else 3 + seed % 3, nodes, seed=seed)


def irregular(seed: int) -> nx.Graph:
    """Return a random tree with half as many links again, of mixed degrees."""
    nodes = 8 + seed * 56 // 49
    graph = nx.random_labeled_tree(nodes, seed=seed)
    more = nx.gnm_random_graph(nodes, nodes // 2, seed=seed)
    graph.add_edges_from(more.edges)
    return graph


def ends_of(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.endpoints]


def assert_delivered(plan: Plan, network: FakeFabric, buckets: int = BUCKETS) -> None:
    for source, destination in permutations(ends_of(plan.fabric), 2):
        address = plan.fabric.node(destination).address
        for lb in range(buckets):
            walk = network.send(source, Frame(address, lb))
            assert (walk.end, walk.nodes[-1]) == ("host", destination), (source, destination, lb, walk)


def assert_free_of_deadlock(fabric: Fabric) -> None:
    for name in ("T2-G", "T1-UD"):
        assert not find_cycle(permitted_graph(fabric, rule_set(name, fabric)))


@pytest.mark.parametrize("name", GRAPHS)
def test_every_bucket_of_every_pair_is_delivered_without_deadlock(name: str) -> None:
    fabric = from_graph(GRAPHS[name](), name)
    assert_free_of_deadlock(fabric)
    for rules in ("T2-G", "T1-UD"):
        plan = make_plan(fabric, rules=rules)
        assert_delivered(plan, FakeFabric(plan), 4)
        used = {path for paths in plan.routes.values() for path in paths}
        assert lanes_used(fabric, rule_set(rules, fabric), used) <= rule_set(rules, fabric).vls


def test_two_lanes_admit_every_shortest_path_of_up_to_three_hops() -> None:
    graph = dragonfly(5, 4)
    fabric = from_graph(graph, "dragonfly")
    plan = make_plan(fabric, strategy="equal-cost")
    for (source, destination), paths in plan.routes.items():
        assert {frozenset([path]) for path in paths} == {
            frozenset([tuple(path)]) for path in nx.all_shortest_paths(graph, source, destination)
        }


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("mode", ["direct", "flooding"])
def test_after_each_cut_all_that_are_joined_reach_each_other(name: str, mode: Mode) -> None:
    fabric = from_graph(GRAPHS[name](), name)
    plan = make_plan(fabric)
    for link in fabric.links[:: max(1, len(fabric.links) // 4)]:
        if link.name in {f"{a}-{b}" for a, b in nx.bridges(nx.Graph(fabric.graph()))} or not nx.is_connected(
            cut_graph(fabric, link.name)
        ):
            continue
        network = FakeFabric(plan)
        network.dead.add(link.name)
        told = repaired(plan, network, link.name, mode)
        assert_delivered(plan, network, 2)
        assert told == len(fabric.nodes)


def cut_graph(fabric: Fabric, link: str) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_edges_from((other.a.node, other.b.node) for other in fabric.links if other.name != link)
    return graph


def repaired(plan: Plan, network: FakeFabric, cut: str, mode: Mode) -> int:
    """Tell the ends of a cut link, carry their messages over the fabric, and return the nodes that know."""
    fabric, routers = plan.fabric, SharedSchemes(plan)
    controllers = {node.name: NodeController(plan, node.name, mode, routers) for node in fabric.nodes}
    link = fabric.link(cut)
    waiting = []
    for end in (link.a, link.b):
        waiting.append((end.node, controllers[end.node].on_port(end.port, up=False)))
    while waiting:
        node, reaction = waiting.pop(0)
        network.apply(node, reaction.updates)
        for message in (*reaction.notices, *reaction.subscriptions):
            goal = fabric.node_of(message.destination_cna)
            assert goal is not None
            path = [node]
            for port in message.ports:
                over = fabric.link_at(path[-1], port)
                assert over is not None
                assert over.name != cut
                path.append(over.far(path[-1]).node)
            if not message.ports:
                walk = network.send(node, Frame(message.destination_cna, mgmt=True))
                assert walk.end == "controller", walk
                path = list(walk.nodes)
            assert path[-1] == goal.name
            ingress = fabric.port_to(path[-1], path[-2])
            if hasattr(message.message, "up"):
                waiting.append((goal.name, controllers[goal.name].on_notice(message.message, ingress)))
            else:
                waiting.append((goal.name, controllers[goal.name].on_subscription(message.message)))
    return sum(cut in controller.down for controller in controllers.values())


def test_users_of_a_link_subscribe_to_it() -> None:
    fabric = from_graph(dragonfly(5, 4), "dragonfly")
    plan = make_plan(fabric)
    told = set(plan.subscribers["g0r0-g0r1"])
    users = {
        source
        for (source, _), paths in plan.routes.items()
        if any({"g0r0", "g0r1"} in map(set, hops_of(path)) for path in paths)
    }
    assert users <= told < set(ends_of(fabric))


@pytest.mark.parametrize("strategy", ["equal-cost", "k-shortest", "edge-disjoint", "stretch", "shortest"])
def test_path_sets_hold_what_they_promise(strategy: str) -> None:
    graph = GRAPHS["torus"]()
    fabric = from_graph(graph, "torus")
    routes = make_plan(fabric, strategy=strategy, peers=[("0", "7"), ("2", "19")]).routes
    for (source, destination), buckets in routes.items():
        paths = set(buckets)
        fewest = nx.shortest_path_length(graph, int(source), int(destination))
        lengths = sorted(len(path) - 1 for path in paths)
        assert lengths[0] == fewest
        match strategy:
            case "equal-cost":
                assert set(lengths) == {fewest}
            case "k-shortest":
                assert len(paths) <= 8
                assert lengths[-1] <= fewest + 2
            case "edge-disjoint":
                hops = [frozenset(hop) for path in paths for hop in hops_of(path)]
                assert len(hops) == len(set(hops))
                assert len(paths) > 1
            case "stretch":
                assert lengths[-1] <= fewest + 1
            case _:
                assert len(paths) == 1


def test_the_naive_rule_on_a_torus_is_refused_with_its_circle() -> None:
    fabric = from_graph(GRAPHS["torus"](), "torus")
    with pytest.raises(
        DeadlockError,
        match="routes of torus under rules single-vl can deadlock: 4 channels wait for each other in a",
    ) as raised:
        make_plan(fabric, rules="single-vl")
    assert len(raised.value.cycle) > 2


def test_old_and_new_blocks_of_a_node_fit_its_table_together() -> None:
    """This graph has nodes whose partition of fewest entries has more blocks than half of the table."""
    fabric = from_graph(regular(47), "regular-47")
    plan = make_plan(fabric, peers=[("0", "1")])
    blocks = [sum(entry.table == "segment" for entry in own) for own in plan.entries.values()]
    assert 16 < max(blocks) <= 32


@pytest.mark.parametrize(
    "fabric",
    [
        dragonfly_family(2, hosts=4, global_links=1),
        jellyfish(12, degree=3, hosts=2),
        from_graph(GRAPHS["hosts of a ring"](), "ring"),
    ],
    ids=lambda fabric: fabric.name,
)
def test_arrays_by_groups_of_addresses_lead_to_every_host(
    fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_blocks, "_PENALTIES", (4,))
    first, second, *_ = ends_of(fabric)
    plan = make_plan(fabric, peers=[(first, second)])
    assert_delivered(plan, FakeFabric(plan), 1)
    blocks = [entry for own in plan.entries.values() for entry in own if entry.table == "segment"]
    grouped = [entry for entry in blocks if dict(entry.params)["shift"]]
    assert grouped


@pytest.mark.long
def test_a_dragonfly_of_1056_hosts_fits_and_a_random_graph_of_1200_is_refused() -> None:
    fabric = dragonfly_family(8, hosts=4, global_links=4)
    first, second, *_ = ends_of(fabric)
    assert len(ends_of(fabric)) == 1056
    plan = make_plan(fabric, peers=[(first, second)])
    network = FakeFabric(plan)
    for source, destination in zip(ends_of(fabric)[::7], ends_of(fabric)[::-7], strict=True):
        if source != destination:
            walk = network.send(source, Frame(fabric.node(destination).address))
            assert walk.nodes[-1] == destination
    random = from_graph(nx.random_regular_graph(4, 1200, seed=1), "random")
    expected = "its tables hold 32 blocks and 1024 next hops; use up to 1024 endpoints, or list"
    with pytest.raises(PlanError, match=expected):
        make_plan(random, peers=[("0", "1")])


def test_pairs_with_longer_paths_are_counted() -> None:
    ring = from_graph(nx.cycle_graph(8), "ring")
    # With one lane no route passes over the bottom of the ring: a pair there goes over the root.
    plan = make_plan(ring, rules="T1-UD", strategy="shortest")
    longer = lengthened(ring, plan.routes)
    lengths = dict(nx.all_pairs_shortest_path_length(ring.graph()))
    more = [len(paths[0]) - 1 - lengths[pair[0]][pair[1]] for pair, paths in plan.routes.items()]
    assert longer == dict(sorted((value, more.count(value)) for value in set(more) if value))
    assert longer
    assert not lengthened(ring, make_plan(ring, strategy="shortest").routes)
    tree = from_graph(fat_tree(), "fat tree")
    assert not lengthened(tree, make_plan(tree).routes)


def test_layers_of_a_ring_and_of_a_tree() -> None:
    ring = nx.cycle_graph(5)
    paths = [tuple(map(str, nx.shortest_path(ring, a, b))) for a, b in permutations(ring.nodes, 2)]
    assert layers_needed(paths) == 2
    tree = nx.balanced_tree(2, 3)
    assert layers_needed(tuple(map(str, nx.shortest_path(tree, a, b))) for a, b in permutations(tree, 2)) == 1


@pytest.mark.long("torus 8 x 9", "torus 4 x 4 x 4", "Slim Fly")
@pytest.mark.parametrize(
    ("fabric", "lanes", "layers", "entries"),
    [
        pytest.param(lambda: dragonfly_family(4, hosts=0), 2, 2, 31, id="Dragonfly"),
        pytest.param(lambda: torus((8, 9)), 2, 4, 73, id="torus 8 x 9"),
        pytest.param(lambda: torus((4, 4, 4)), 2, 1, 65, id="torus 4 x 4 x 4"),
        pytest.param(lambda: hyperx((4, 4), hosts=0), 2, 1, 19, id="HyperX"),
        pytest.param(lambda: slim_fly(5, hosts=0), 2, 2, 55, id="Slim Fly"),
        pytest.param(lambda: jellyfish(20, hosts=0), 2, 2, 24, id="Jellyfish"),
        pytest.param(lambda: bcube(4), 2, 1, 18, id="BCube"),
    ],
)
def test_two_lanes_lengthen_no_path_of_a_family(
    fabric: Callable[[], Fabric], lanes: int, layers: int, entries: int
) -> None:
    """The table of docs/use/bring-your-own.md."""
    graph = fabric()
    plan = make_plan(graph, strategy="equal-cost")
    lengths = dict(nx.all_pairs_shortest_path_length(graph.graph()))
    for (source, destination), paths in plan.routes.items():
        assert {len(path) - 1 for path in paths} == {lengths[source][destination]}
    used = {path for paths in plan.routes.values() for path in paths}
    assert lanes_used(graph, rule_set("T2-G", graph), used) == lanes
    shortest = make_plan(graph, strategy="shortest").routes.values()
    assert layers_needed(sorted({paths[0] for paths in shortest})) == layers
    rows = [sum(entry.table in ("segment", "linear") for entry in own) for own in plan.entries.values()]
    assert max(rows) == entries


def test_a_torus_in_dimensions_is_routed_as_a_graph_and_a_mesh_is_not() -> None:
    assert not any(map(Graph.serves, (ub_rack(), full_mesh([4, 4]))))
    assert Graph.serves(from_graph(nx.cycle_graph(4), "ring"))


def test_endpoints_relay_only_where_switches_do_not_join_them() -> None:
    assert relays(from_graph(dragonfly(3, 2), "d"))
    assert not relays(from_graph(fat_tree(), "f"))
    servers = nx.Graph(
        [(f"s{x}.{y}", f"{axis}{(x, y)[axis == 'x']}") for x in (0, 1) for y in (0, 1) for axis in "xy"]
    )
    for name in servers:
        if name[0] in "xy":
            servers.nodes[name]["kind"] = "switch"
    assert relays(from_graph(servers, "bcube"))


def test_rules_of_dimensions_and_hashing_are_refused() -> None:
    fabric = from_graph(nx.cycle_graph(4), "ring")
    with pytest.raises(PlanError, match="rules T2-DOR need dimensions; ring is routed as a graph"):
        make_plan(fabric, rules="T2-DOR")
    with pytest.raises(
        PlanError,
        match="no strategy named 'hashed' for graphs; use one of adaptive, all-path, bitmap, borrow,",
    ):
        make_plan(fabric, strategy="hashed")


@pytest.mark.long(*(f"{kind}-{seed}" for kind in ("regular", "irregular") for seed in SEEDS if seed > 6))
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["regular", "irregular"])
def test_random_graphs_are_free_of_deadlock_and_whole(kind: str, seed: int) -> None:
    fabric = from_graph(regular(seed) if kind == "regular" else irregular(seed), f"{kind}-{seed}")
    assert_free_of_deadlock(fabric)
    plan = make_plan(fabric)
    assert_delivered(plan, FakeFabric(plan), 1)
    assert sorted(ranks(fabric).values()) == list(range(len(fabric.nodes)))
