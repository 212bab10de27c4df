# SPDX-License-Identifier: Apache-2.0
"""Routes of HPN: host routes and groups at ToRs, segments above, and what is withdrawn when links fail."""

from collections.abc import Callable
from itertools import permutations, product

import pytest

from controller import Plan, make_plan
from controller.paths.finder import PathFinder
from controller.schemes.registry import scheme_for
from controller.tables.segments.rails import rail_of
from controller.tables.segments.withdrawn import withdrawn_segments
from tests.controller.fake_fabric import FakeFabric, Frame
from tests.controller.recovery.test_node_controller import Rack
from topologies import Fabric, dcn_plus, hpn

LBS = (0, 2, 5, 77, 142, 255)
SMALL: dict[str, Callable[[], Fabric]] = {
    "two planes": lambda: hpn(2, 2, 2, aggs=2),
    "one plane": lambda: hpn(2, 2, 2, aggs=2, planes=1),
    "one ToR": lambda: hpn(2, 2, 2, aggs=2, tors="single"),
}


def ends(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind.member]


def lost(fake: FakeFabric, sources: list[str]) -> list[tuple[str, str, int, str]]:
    """Flows that do not arrive."""
    address = {name: fake.fabric.node(name).address for name in sources}
    result = []
    for (source, destination), lb in product(permutations(sources, 2), LBS):
        walk = fake.send(source, Frame(address[destination], scna=address[source], lb=lb))
        if (walk.end, walk.nodes[-1]) != ("host", destination):
            result.append((source, destination, lb, walk.end))
    return result


@pytest.fixture(scope="module", params=SMALL)
def plan(request: pytest.FixtureRequest) -> Plan:
    return make_plan(SMALL[request.param](), strategy="hashed")


@pytest.mark.parametrize(
    "fabric", [*(make() for make in SMALL.values()), dcn_plus(2, 2, 1, 2, aggs=2)], ids=str
)
@pytest.mark.parametrize("strategy", ["shortest", "hashed"])
def test_all_flows_arrive(fabric: Fabric, strategy) -> None:
    assert lost(FakeFabric(make_plan(fabric, strategy=strategy)), ends(fabric)) == []


def test_tors_have_a_route_a_host_and_aggs_ways_to_segments() -> None:
    fabric = hpn(2, 64, 8, aggs=2)
    scheme = scheme_for(fabric)
    assert rail_of(fabric, "tor0.0.0") is None
    tor = scheme.segments("tor0.0.0")
    assert sorted(item.prefix.length for item in tor) == [0, *[16] * (64 + 1)]  # up, its hosts, itself
    assert tor[-1].next_hops == (("agg0.0", "agg0.1"),)
    down = [segment for segment in scheme.segments("agg1.0") if segment.prefix.length < 16]
    assert [item.next_hops for item in down] == [
        tuple(f"tor{segment}.{rail}.1" for rail in range(8)) for segment in range(2)
    ]


@pytest.mark.parametrize("link", ["gpu0-tor0.0.0", "tor0.0.0-agg0.1", "gpu0-gpu1"])
def test_no_flow_is_lost_once_a_link_has_failed(plan: Plan, link: str) -> None:
    if "tor0.0.1" not in {node.name for node in plan.fabric.nodes} and link.startswith("gpu0-tor"):
        pytest.skip("with one ToR nothing is left")
    rack = Rack(plan, "direct")
    before = rack.tables()
    rack.set_link(link, up=False)
    assert lost(rack.fake, ends(plan.fabric)) == []
    rack.set_link(link, up=True)
    assert rack.tables() == before


def test_nor_when_a_tor_has_died() -> None:
    plan = make_plan(SMALL["two planes"](), strategy="hashed")
    rack = Rack(plan, "direct")
    for link in plan.fabric.links:
        if "tor0.0.0" in (link.a.node, link.b.node):
            rack.set_link(link.name, up=False)
    assert lost(rack.fake, ends(plan.fabric)) == []


def test_a_host_route_is_withdrawn_and_the_plane_is_told() -> None:
    fabric = SMALL["two planes"]()
    rack = Rack(make_plan(fabric, strategy="hashed"), "direct")
    rack.set_link("gpu0-tor0.0.0", up=False)
    there = fabric.node("gpu0").address
    frame = Frame(there, scna=fabric.node("gpu2").address)
    assert rack.fake.packet_out("gpu2", frame, fabric.port_to("gpu2", "tor0.0.0")).end == "no route"
    assert {"agg0.0", "agg0.1"} <= set(rack.told)
    assert not {"agg1.0", "agg1.1"} & set(rack.told)
    # Nobody changes planes but who sends: the other plane's tables are as they were.
    finder = PathFinder(fabric, {"gpu0-tor0.0.0"})
    assert [
        withdrawn_segment.next_hops
        for withdrawn_segment in withdrawn_segments(finder, fabric.node("agg0.0"), [])
    ] == [(None,)]
    assert withdrawn_segments(finder, fabric.node("agg1.0"), []) == []


def test_in_one_plane_the_aggs_take_the_other_tor() -> None:
    fabric = SMALL["one plane"]()
    finder = PathFinder(fabric, {"gpu0-tor0.0.0"})
    (route,) = withdrawn_segments(finder, fabric.node("agg0.0"), [])
    assert (route.prefix.value, route.prefix.length) == (fabric.node("gpu0").address, 16)
    assert route.next_hops == ("tor0.0.1",)
