# SPDX-License-Identifier: Apache-2.0
"""Paths by lb: the linear hash, the search over it, and the tables that have the last word."""

import zlib
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from controller import PlanError, make_plan
from controller.forwarding.ecmp_paths import port_of_bucket
from controller.forwarding.pipeline import flow_hash
from controller.path_probing import LB_VALUES, PathProbe, lb_by_member, min_reached_members, selected_members
from controller.paths.finder import until_first_switch
from controller.plan.entry import BUCKETS, Hashing
from controller.plan.plan import Plan
from controller.recovery.node_controller import NodeController
from controller.tables.groups import group_size, hash_shift
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import Fabric, hpn, lumos, rail_optimised

PORTS = [[lb for lb in range(LB_VALUES) if port_of_bucket(lb % BUCKETS, 2) == port] for port in (0, 1)]


def crc(scna: int, dcna: int, lb: int) -> int:
    return zlib.crc32(scna.to_bytes(2) + dcna.to_bytes(2) + lb.to_bytes(1)) & 0xFFFF


def hashed(fabric: Fabric, hashing: Hashing = "per-tier") -> Plan:
    return make_plan(fabric, strategy="hashed", hashing=hashing)


def ends(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.endpoints]


def test_the_hash_is_what_a_crc_gives() -> None:
    draw = np.random.default_rng(1)
    scna, dcna, lb = (draw.integers(limit, size=300) for limit in (1 << 16, 1 << 16, 256))
    expected = [crc(*(int(item) for item in frame)) for frame in zip(scna, dcna, lb, strict=True)]
    assert flow_hash(scna, dcna, lb).tolist() == expected


def test_the_hash_is_affine() -> None:
    for item, other in (((1, 2, 3), (40, 500, 60)), ((0x8000, 1, 255), (7, 0xFFFF, 128))):
        both = [a ^ b for a, b in zip(item, other, strict=True)]
        assert crc(*both) == crc(*item) ^ crc(*other) ^ crc(0, 0, 0)


def test_sixty_uplinks_are_in_reach_of_every_source_by_either_port() -> None:
    assert min_reached_members(60) == 60
    assert [min_reached_members(60, lbs=lbs) for lbs in PORTS] == [60, 60]
    # Were the port bit 0, it would cost two of them.
    assert min_reached_members(60, lbs=range(0, LB_VALUES, 2)) == 58


@pytest.mark.parametrize(("ways", "shift"), [(60, 0), (59, 0), (16, 3), (7, 5)])
def test_values_are_found_for_ways_and_take_them(ways: int, shift: int) -> None:
    draw, least = np.random.default_rng(ways), min_reached_members(ways, shift)
    for scna, dcna in draw.integers(1 << 16, size=(8, 2)).tolist():
        result = lb_by_member(scna, dcna, ways, shift)
        assert (result >= 0).sum() >= least
        for way, lb in enumerate(result.tolist()):
            if lb >= 0:
                assert (crc(scna, dcna, lb) >> shift & group_size(ways) - 1) % ways == way
        taken = {int(selected_members(crc(scna, dcna, lb), ways, shift)) for lb in range(LB_VALUES)}
        assert {way for way, lb in enumerate(result.tolist()) if lb >= 0} == taken


@pytest.mark.parametrize("ports", [1, 2, 3, 4, 8, 16])
def test_buckets_are_dealt_evenly_over_ports(ports: int) -> None:
    dealt = [port_of_bucket(bucket, ports) for bucket in range(BUCKETS)]
    counts = [dealt.count(port) for port in range(ports)]
    assert max(counts) - min(counts) <= 1


FABRICS = {
    "two planes": (hpn(2, 2, 2, aggs=3), "per-tier"),
    "one plane": (hpn(2, 2, 2, aggs=3, planes=1), "per-tier"),
    "one plane, the same bits": (hpn(2, 2, 2, aggs=4, planes=1), "identical"),
    "three tiers": (rail_optimised(4, 4, radix=4), "per-tier"),
}
EACH = pytest.mark.parametrize(("fabric", "hashing"), FABRICS.values(), ids=FABRICS.keys())


@EACH
def test_frames_take_the_paths_that_were_worked_out(fabric: Fabric, hashing: Hashing) -> None:
    plan = hashed(fabric, hashing)
    search, fake = PathProbe(plan), FakeFabric(plan)
    for source, permutation in list(permutations(ends(fabric), 2))[::5]:
        scna, dcna = fabric.node(source).address, fabric.node(permutation).address
        result = search.lbs_by_path(source, permutation)
        assert sorted(lb for lbs in result.values() for lb in lbs) == list(range(LB_VALUES))
        for path, lbs in result.items():
            for lb in lbs[:3]:
                walk = fake.send(source, Frame(dcna, scna=scna, lb=lb))
                assert (walk.nodes, walk.end) == (path, "host")


@EACH
def test_disjoint_paths_share_no_link_between_switches(fabric: Fabric, hashing: Hashing) -> None:
    search = PathProbe(hashed(fabric, hashing))
    source, neighbour = ends(fabric)[0], ends(fabric)[-1]
    result = search.disjoint_paths(source, neighbour)
    between = [
        {hop for hop in pairwise(item.path) if all(fabric.node(name).is_switch for name in hop)}
        for item in result
    ]
    assert len(result) > 1
    assert all(combination.isdisjoint(other) for combination, other in combinations(between, 2))
    assert search.disjoint_paths(source, neighbour, most=2) == result[:2]
    by_lb = {lb: path for path, lbs in search.lbs_by_path(source, neighbour).items() for lb in lbs}
    assert all(by_lb[item.lb] == item.path for item in result)
    backwards = search.disjoint_paths(source, neighbour, order=range(LB_VALUES)[::-1])
    assert {backward.lb for backward in backwards}.isdisjoint(item.lb for item in result)


def test_two_planes_have_all_uplinks_of_both_tors_and_ports_take_turns() -> None:
    fabric = hpn(2, 2, 2, aggs=60)
    plan = make_plan(fabric, strategy="hashed", peers=[("gpu0", "gpu7")], check=False)
    search = PathProbe(plan)
    assert search.group_sizes("gpu0", "gpu7") == (60,)
    result = search.disjoint_paths("gpu0", "gpu7")
    assert len(result) == 120
    assert [until_first_switch(fabric, item.path)[-1] for item in result[:4]] == ["tor0.0.0", "tor0.0.1"] * 2
    assert [len(lbs) for lbs in search.lbs_by_port("gpu0", "gpu7")] == [128, 128]


def test_one_plane_chooses_twice_and_the_same_bits_leave_one_tor_a_switch() -> None:
    fabric = hpn(2, 2, 2, aggs=4, planes=1)
    downs = {}
    for hashing in ("per-tier", "identical"):
        search = PathProbe(hashed(fabric, hashing))
        assert search.group_sizes("gpu0", "gpu7") == (4, 2)
        downs[hashing] = {path[2:4] for path in search.lbs_by_path("gpu0", "gpu7")}
    assert len(downs["per-tier"]) == 8
    assert len(downs["identical"]) == len({agg for agg, _ in downs["identical"]}) == 4


def test_the_same_bits_on_every_level() -> None:
    fabric = hpn(2, 2, 2, aggs=4, planes=1)
    assert hash_shift(fabric, "agg0.0") == 2
    assert hash_shift(fabric, "agg0.0", "identical") == 0
    assert make_plan(fabric, peers=[], hashing="identical").hashing == "identical"


def test_other_strategies_steer_by_bucket_and_have_their_paths() -> None:
    fabric = hpn(2, 2, 2, aggs=3)
    plan = make_plan(fabric, strategy="all-path")
    result = PathProbe(plan).lbs_by_path("gpu0", "gpu7")
    assert set(result) == set(plan.routes["gpu0", "gpu7"])
    assert all(
        plan.routes["gpu0", "gpu7"][lb % BUCKETS] == path for path, lbs in result.items() for lb in lbs
    )


def test_when_a_port_fails_all_buckets_take_the_other() -> None:
    fabric = hpn(2, 2, 2, aggs=3)
    plan = hashed(fabric)
    item = NodeController(plan, "gpu0")
    port = fabric.port_to("gpu0", "tor0.0.0")
    fake = FakeFabric(plan)
    fake.apply("gpu0", item.on_port(port, False).updates)
    scna, dcna = fabric.node("gpu0").address, fabric.node("gpu7").address
    for lb in range(BUCKETS):
        assert fake.send("gpu0", Frame(dcna, scna=scna, lb=lb)).nodes[1] == "tor0.0.1"


def test_circuits_are_refused() -> None:
    fabric = lumos(pods=2, leaves=2, accelerators=8)
    with pytest.raises(PlanError, match="circuits"):
        PathProbe(make_plan(fabric, peers=[], check=False))


def test_where_the_tables_lead_nowhere_the_search_says_so() -> None:
    fabric = hpn(2, 2, 2, aggs=1)
    failed = {"gpu7-tor1.1.0", "gpu7-tor1.1.1"}
    plan = make_plan(fabric, strategy="hashed", peers=[("gpu0", "gpu5")], failed=failed, check=False)
    with pytest.raises(PlanError, match="no further than"):
        PathProbe(plan).lbs_by_path("gpu0", "gpu7")
