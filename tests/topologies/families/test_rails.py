# SPDX-License-Identifier: Apache-2.0
"""GPUs in domains, and the networks of their NICs."""

from collections import Counter
from collections.abc import Callable

import networkx as nx
import pytest

from topologies import Fabric, NodeKind, TopologyError, any_to_any, rail_only, rail_optimised
from topologies.families.clos import clos_of
from topologies.families.rails.domains import Inside
from topologies.families.registry import build
from topologies.model.checks import LaneUse, check, lane_audit
from topologies.model.codec import from_json, to_json
from topologies.model.distance import longest_way

Make = Callable[..., Fabric]
ALL: tuple[Make, ...] = (rail_only, rail_optimised, any_to_any)
SIZES = ((2, 2, 64), (2, 4, 8), (8, 2, 4), (5, 3, 6), (16, 4, 8), (7, 8, 16))


def kinds(fabric: Fabric) -> Counter[NodeKind]:
    return Counter(node.kind for node in fabric.nodes)


def of(fabric: Fabric, *wanted: NodeKind) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind in wanted]


def nics(fabric: Fabric) -> nx.Graph:
    """Without the links inside of domains."""
    graph = fabric.graph()
    inside = {link.name for link in fabric.links if link.dimension == 0}
    graph.remove_edges_from([(a, b) for a, b, link in graph.edges(data="link") if link in inside])
    graph.remove_nodes_from(of(fabric, NodeKind.HBS))
    return graph


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(("domains", "size", "radix"), SIZES)
@pytest.mark.parametrize("inside", ["mesh", "switch"])
def test_fabrics_are_whole(make: Make, domains: int, size: int, radix: int, inside: Inside) -> None:
    fabric = make(domains, size, radix=radix, inside=inside)
    check(fabric)
    assert from_json(to_json(fabric)) == fabric
    counts = kinds(fabric)
    assert counts[NodeKind.GPU] == domains * size
    assert counts[NodeKind.HBS] == (domains if inside == "switch" else 0)
    assert {(node.kind, node.tier) for node in fabric.nodes} <= {
        (NodeKind.GPU, 0),
        (NodeKind.HBS, 1),
        (NodeKind.RAIL, 2),
        (NodeKind.SPINE, 3),
        (NodeKind.CORE, 4),
    }
    assert {node.program for node in fabric.nodes} == {"rail_gpu", "rail_switch"}


@pytest.mark.parametrize("make", ALL)
def test_a_gpu_is_where_its_address_says(make: Make) -> None:
    fabric = make(5, 3, radix=6)
    plan = fabric.address_plan
    assert [field.name for field in plan.fields] == ["class", "pad", "domain", "rank"]
    for domain in range(5):
        for rank in range(3):
            node = fabric.node(f"gpu{3 * domain + rank}")
            assert node.index == 3 * domain + rank
            assert node.coordinates == (rank, domain)
            assert plan.unpack(node.address) == {"class": 0, "pad": 0, "domain": domain, "rank": rank}
    classes = {node.kind: plan.unpack(node.address)["class"] for node in fabric.nodes}
    assert classes.items() <= {"gpu": 0, "hbs": 1, "rail": 2, "spine": 3, "core": 4}.items()


def test_switches_of_a_rail_have_its_rank() -> None:
    fabric = rail_only(64, 2, radix=8)
    assert {"rail0l0", "rail1l15", "rail0s0", "rail1c0"} <= {node.name for node in fabric.nodes}
    for rank in range(2):
        names = [node for node in fabric.switches if node.name.startswith(f"rail{rank}")]
        assert {node.coordinates[0] for node in names} == {rank}
        assert len(names) == clos_of(64, 8).switches


def test_ports_come_domain_first_then_the_nic_and_go_down_before_up() -> None:
    fabric = rail_only(8, 4, radix=4)
    assert fabric.neighbours("gpu5") == ("gpu4", "gpu6", "gpu7", "rail1l0")
    assert [port.name for port in fabric.node("gpu5").ports] == ["host", "hb0", "hb2", "hb3", "nic"]
    assert fabric.neighbours("rail1l0") == ("gpu1", "gpu5", "rail1s0", "rail1s1")
    assert [port.number for port in fabric.node("rail1l0").ports] == [1, 2, 3, 4]


@pytest.mark.parametrize("inside", ["mesh", "switch"])
@pytest.mark.parametrize(("domains", "size", "radix"), SIZES)
def test_without_its_domains_rail_only_falls_into_rails(
    domains: int, size: int, radix: int, inside: Inside
) -> None:
    fabric = rail_only(domains, size, radix=radix, inside=inside)
    parts = list(nx.connected_components(nics(fabric)))
    assert len(parts) == size
    for part in parts:
        gpus = [fabric.node(name) for name in part if fabric.node(name).kind is NodeKind.GPU]
        assert len(gpus) == domains
        assert len({gpu.coordinates[0] for gpu in gpus}) == 1


@pytest.mark.parametrize("make", [rail_optimised, any_to_any])
@pytest.mark.parametrize(("domains", "size", "radix"), SIZES)
def test_the_others_join_all_gpus_by_nics_alone(make: Make, domains: int, size: int, radix: int) -> None:
    assert nx.is_connected(nics(make(domains, size, radix=radix)))


@pytest.mark.parametrize(("domains", "size", "radix"), SIZES)
def test_a_leaf_of_rail_optimised_has_gpus_of_one_rail(domains: int, size: int, radix: int) -> None:
    fabric = rail_optimised(domains, size, radix=radix)
    for name in of(fabric, NodeKind.RAIL):
        below = [
            fabric.node(neighbour)
            for neighbour in fabric.neighbours(name)
            if not fabric.node(neighbour).is_switch
        ]
        assert {gpu.coordinates[0] for gpu in below} == {fabric.node(name).coordinates[0]}


def test_leaves_of_any_to_any_take_gpus_in_their_order() -> None:
    fabric = any_to_any(4, 8, radix=8)
    assert fabric.neighbours("leaf3")[:4] == ("gpu12", "gpu13", "gpu14", "gpu15")


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(("domains", "size", "radix"), SIZES)
def test_nothing_above_the_leaves_is_contended(make: Make, domains: int, size: int, radix: int) -> None:
    """Every switch that has switches above it sends as much up as down."""
    fabric = make(domains, size, radix=radix)
    for name in of(fabric, NodeKind.RAIL, NodeKind.SPINE):
        tier = fabric.node(name).tier
        rates: Counter[bool] = Counter()
        for neighbour in fabric.neighbours(name):
            rates[fabric.node(neighbour).tier > tier] += fabric.link_between(name, neighbour).rate_bps
        assert not rates[True] or rates[True] >= rates[False]


@pytest.mark.parametrize(
    ("make", "switches"),
    [
        (rail_only, {NodeKind.RAIL: 64, NodeKind.SPINE: 32}),
        (rail_optimised, {NodeKind.RAIL: 64, NodeKind.SPINE: 32}),
        (any_to_any, {NodeKind.RAIL: 64, NodeKind.SPINE: 32}),
    ],
)
def test_256_domains_of_8(make: Make, switches: dict[NodeKind, int]) -> None:
    """Rails of 256 on radix 64 take as many switches as rails joined: it is a smaller rail that saves."""
    fabric = make(256, 8)
    check(fabric)
    assert kinds(fabric) == {NodeKind.GPU: 2048, **switches}
    audit = lane_audit(fabric)
    assert {audit[name] for name in of(fabric, NodeKind.RAIL, NodeKind.SPINE)} == {LaneUse(64, 64)}
    assert {audit[name] for name in of(fabric, NodeKind.GPU)} == {LaneUse(8, 8)}


def test_a_rail_that_fits_a_switch_needs_no_other() -> None:
    fabric = rail_only(64, 8)
    assert kinds(fabric) == {NodeKind.GPU: 512, NodeKind.RAIL: 8}
    assert kinds(rail_optimised(64, 8)) == {NodeKind.GPU: 512, NodeKind.RAIL: 16, NodeKind.SPINE: 8}


@pytest.mark.parametrize(("endpoints", "radix"), [(8, 8), (32, 8), (128, 8), (100, 8), (512, 16)])
def test_as_many_switches_and_cables_are_built_as_are_counted(endpoints: int, radix: int) -> None:
    fabric = any_to_any(endpoints // 2, 2, radix=radix)
    shape = clos_of(endpoints, radix)
    counts = kinds(fabric)
    assert counts[NodeKind.RAIL] == shape.leaves
    assert counts[NodeKind.SPINE] == shape.all_spines
    assert counts[NodeKind.CORE] == shape.all_cores
    above = {NodeKind.RAIL, NodeKind.SPINE}
    trunks = [link for link in fabric.links if fabric.node(link.a.node).kind in above]
    assert sum(link.lanes for link in trunks) == shape.trunk_cables


def test_rates_are_those_of_gpu_and_nic() -> None:
    meshed = rail_only(2, 4, hb_gbps=900e-9, nic_gbps=50e-9)
    rates = {link.dimension: link.rate_bps for link in meshed.links}
    assert rates == {0: 300, None: 50}
    # A GPU's host carries all its links at once.
    assert meshed.host_lanes * meshed.lane_rate_bps == 950
    switched = rail_optimised(2, 4, hb_gbps=900e-9, nic_gbps=50e-9, inside="switch")
    assert {link.rate_bps for link in switched.links} == {900, 50, 100}
    assert {link.dimension for link in switched.links} == {None}
    assert lane_audit(switched)["hbs0"] == LaneUse(4, 4)
    assert lane_audit(switched)["gpu0"] == LaneUse(2, 2)


def test_how_far_gpus_are_apart() -> None:
    assert longest_way(rail_only(4, 8), of(rail_only(4, 8), NodeKind.GPU)) == 3
    assert longest_way(rail_only(4, 8, inside="switch"), of(rail_only(4, 8), NodeKind.GPU)) == 4
    assert longest_way(any_to_any(4, 8), of(any_to_any(4, 8), NodeKind.GPU)) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rail_only(1, 8), "domains is 1; give a whole number of at least 2"),
        (lambda: rail_only(8, 1), "hb_size is 1; give a whole number from 2 to 255"),
        (lambda: rail_only(2, 256), "hb_size is 256; give a whole number from 2 to 255"),
        (lambda: build("rail-only", inside="ring"), "inside is 'ring'; give mesh or switch"),
        (lambda: rail_only(2, 8, radix=0), "radix is 0; give a whole number of at least 2"),
        (lambda: rail_only(2, 8, nic_delay_ns=-1), "nic_delay_ns is -1; give a number of at least 0"),
        (
            lambda: rail_only(4096, 8),
            "4096 domains of 8 GPUs need addresses of 17 bits, but an address has 16; use fewer or smaller",
        ),
        (
            lambda: rail_only(2048, 8, radix=32),
            "2048 domains of 8: their addresses leave none for a core switch; use fewer or smaller",
        ),
        (
            lambda: any_to_any(128, 2, radix=256),
            "leaf0 has 256 ports, but a source route can address only 255; use a smaller radix",
        ),
        (lambda: rail_only(64, 8, radix=4), "32 leaves of radix 4 are more than 3 tiers can join"),
        (
            lambda: rail_optimised(64, 8, radix=64, spines=3),
            "3 spines of radix 64 cannot join 16 leaves with 32 uplinks each; give spines 0 for the fewest",
        ),
    ],
)
def test_what_does_not_fit_says_what_does(make: Callable[[], Fabric], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        make()
