# SPDX-License-Identifier: Apache-2.0
"""Pods and groups of optical switches (LumosCore): how they are wired, and what the circuits join."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import get_args

import numpy as np
import pytest

from topologies import Fabric, NodeKind, TopologyError, optical_rings
from topologies.families.lumos.core import (
    DARK,
    WiringOfPorts,
    check_wiring,
    core_of,
    crossconnects,
    crossconnects_of,
    maps_of,
    physical,
    with_maps,
)
from topologies.families.lumos.fabric import lumos
from topologies.families.rails.domains import Inside
from topologies.families.registry import build
from topologies.model.checks import LaneUse, lane_audit, problems
from topologies.model.codec import from_json, to_json
from topologies.model.distance import longest_way
from topologies.transform import circuits as optical

SMALL = lumos(accelerators=4, hb_size=4)


def small(pods: int, wiring: WiringOfPorts) -> Fabric:
    return lumos(pods, accelerators=4, hb_size=4, wiring=wiring)


def spines(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is NodeKind.SPINE]


def circuits(fabric: Fabric, group: int, i: int, j: int) -> int:
    ends = f"spine{i}.{group}", f"spine{j}.{group}"
    return len(fabric.links_between(*ends)) if ends[1] in fabric.neighbours(ends[0]) else 0


def test_the_papers_testbed() -> None:
    """128 accelerators, from every tier up as much as from below; 32 optical switches, two a pair."""
    fabric = lumos()
    assert Counter(node.kind.value for node in fabric.nodes) == {"gpu": 128, "rail": 8, "spine": 8}
    assert [len(group) for group in core_of(fabric).groups] == [8, 8]
    assert len(physical(fabric)) == 32
    audit = lane_audit(fabric)
    assert {audit[node.name] for node in fabric.switches} == {LaneUse(32, 64)}
    assert {audit[node.name] for node in fabric.endpoints} == {LaneUse(8, 8)}
    assert fabric.link("leaf0.0-spine0.0").lanes == 8
    assert fabric.link("leaf0.0-spine0.0").rate_bps == 8 * fabric.lane_rate_bps
    gpus = [node.name for node in fabric.endpoints]
    assert longest_way(fabric, gpus) == 5


def test_nics_fill_leaves_in_their_order() -> None:
    fabric = lumos(2, 3, 2, accelerators=4, hb_size=6, tau=1, ports=2)
    assert fabric.neighbours("leaf0.1") == ("gpu4", "gpu5", "gpu6", "gpu7", "spine0.0", "spine0.1")
    assert fabric.neighbours("leaf1.0")[:4] == ("gpu12", "gpu13", "gpu14", "gpu15")
    assert [port.name for port in fabric.node("gpu5").ports][-1] == "nic"


def test_a_pod_is_an_address_prefix() -> None:
    fabric = lumos(3, 2, 2, accelerators=4, hb_size=4)
    plan = fabric.address_plan
    assert [part.name for part in plan.fields] == ["class", "pad", "pod", "domain", "rank"]
    prefixes = {plan.prefix("domain", node.address) for node in fabric.endpoints}
    assert len(prefixes) == 3
    assert fabric.node("gpu13").coordinates == (1, 1, 1)
    assert plan.unpack(fabric.node("spine2.1").address) == {
        "class": 3,
        "pad": 0,
        "pod": 2,
        "domain": 0,
        "rank": 1,
    }
    assert len({node.address for node in fabric.nodes}) == len(fabric.nodes)


@pytest.mark.parametrize("wiring", get_args(WiringOfPorts))
@pytest.mark.parametrize("pods", [2, 3, 4, 5, 8])
def test_every_pod_is_joined_nearly_alike(wiring: WiringOfPorts, pods: int) -> None:
    fabric = lumos(pods, 4, 2, accelerators=4, hb_size=4, wiring=wiring)
    assert problems(fabric) == []
    check_wiring(fabric)
    for group in range(2):
        counts = [circuits(fabric, group, i, j) for i, j in combinations(range(pods), 2)]
        assert max(counts) - min(counts) <= (2 if wiring == "uniform" else 1)
        assert min(counts) > 0
    joined = crossconnects(fabric)
    dark = sum(len(switch.ends) - len(joined[switch.name]) for switch in fabric.optical)
    # A round of an odd number of Pods lets one out.
    assert dark == (len(fabric.optical) if wiring == "uniform" and pods % 2 else 0)


@pytest.mark.parametrize("inside", ["mesh", "switch"])
@pytest.mark.parametrize("wiring", get_args(WiringOfPorts))
def test_a_document_of_it_is_read_back(wiring: WiringOfPorts, inside: Inside) -> None:
    """Circuits in parallel among them."""
    fabric = lumos(accelerators=4, hb_size=4, wiring=wiring, inside=inside)
    assert len(fabric.links_between("spine0.0", "spine2.0")) == (1 if wiring == "uniform" else 2)
    assert from_json(to_json(fabric)) == fabric


def test_parallel_circuits_have_their_own_ports() -> None:
    ports = SMALL.ports_to("spine0.0", "spine2.0")
    assert ports[0] == SMALL.port_to("spine0.0", "spine2.0")
    links = SMALL.links_between("spine0.0", "spine2.0")
    assert [link.name for link in links] == ["ocs0p1:0-6", "ocs0p1:2-4"]
    assert links[0] is SMALL.link_between("spine0.0", "spine2.0")
    assert [SMALL.link_at("spine0.0", port) for port in ports] == list(links)
    assert SMALL.ports_to("gpu0", "leaf0.0") == (SMALL.port_to("gpu0", "leaf0.0"),)


@pytest.mark.parametrize("wiring", get_args(WiringOfPorts))
def test_maps_come_back_as_they_went_in(wiring: WiringOfPorts) -> None:
    fabric = small(4, wiring)
    maps = np.array(maps_of(fabric))
    maps[0, 0] = DARK
    changed = with_maps(fabric, maps)
    assert np.array_equal(maps_of(changed), maps)
    assert len(changed.links) == len(fabric.links) - (2 if wiring == "uniform" else 4)
    assert crossconnects(changed)[core_of(fabric).groups[0][0].name] == {}
    assert list(crossconnects_of(fabric, maps).items()) == list(crossconnects(changed).items())
    assert [circuits(changed, 1, 0, j) for j in (1, 2, 3)] == [circuits(fabric, 1, 0, j) for j in (1, 2, 3)]


def test_random_circuits_of_cross_wiring_are_what_switches_can_be_set_to() -> None:
    """Each is a partial permutation, and the odd switch of a pair the transpose of the even one."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        maps = np.full((2, 2, 4), DARK)
        for row in maps.reshape(-1, 4):
            order = rng.permutation(4)
            row[:] = np.where((order == np.arange(4)) | (rng.random(4) < 0.3), DARK, order)
        fabric = with_maps(SMALL, maps)
        check_wiring(fabric)
        switches = physical(fabric)
        for group, pair in np.ndindex(2, 2):
            even, odd = (switches[f"ocs{group}.{2 * pair + side}"] for side in (0, 1))
            assert odd == {j: i for i, j in even.items()}
            assert even == {i: j for i, j in enumerate(maps[group, pair]) if j != DARK}
        for h, i, j in np.ndindex(2, 4, 4):
            if i != j:
                wanted = (maps[h, :, i] == j).sum() + (maps[h, :, j] == i).sum()
                assert circuits(fabric, h, i, j) == wanted


def test_uniform_wiring_cannot_hold_what_cross_wiring_can() -> None:
    """Three Pods with one circuit between any two, of two ports a spine each (LumosCore: two thirds)."""
    ring = [[[1, 2, 0]]]
    fabric = with_maps(lumos(3, 1, 1, accelerators=2, hb_size=2), ring)
    assert {circuits(fabric, 0, i, j) for i, j in combinations(range(3), 2)} == {1}
    with pytest.raises(
        TopologyError, match=r"ocs0\.0: port 0 leads to 1, but port 1 leads to 2; with uniform"
    ):
        with_maps(lumos(3, 1, 1, accelerators=2, hb_size=2, wiring="uniform"), [[*ring[0], *ring[0]]])


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        ([[[1, DARK, 1, DARK]]], r"ocs0p0: port 5 is joined to both 0 and 2"),
        ([[[0, DARK, DARK, DARK]]], "ocs0p0: port 0 leads to its own Pod; leave it dark, -1"),
        (
            [[[4, DARK, DARK, DARK]]],
            "ocs0p0: port 0 leads to Pod 4, which does not exist; give a Pod from 0 to 3, or -1 for a",
        ),
        ([[[-2, DARK, DARK, DARK]]], r"ocs0p0: port 0 leads to Pod -2"),
        ([[[1, DARK, DARK]]], "ocs0p0: the map has 3 Pods instead of 4; give one for 4"),
        ([[[DARK] * 4] * 2], "1 maps were given for 1 groups; give 1 maps of 1 rows each"),
        ([], "0 maps were given for 1 groups; give 1 maps of 1 rows each"),
    ],
)
def test_maps_that_cannot_be_are_refused(maps: list[list[list[int]]], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        with_maps(lumos(4, 1, 1, accelerators=2, hb_size=2), maps)


def test_two_even_ports_cannot_be_joined() -> None:
    joined = optical.with_circuits(SMALL, "ocs1p0", {0: 2})
    assert problems(joined) == []
    with pytest.raises(TopologyError, match="ocs1p0: ports 0 and 2 are both even; join an even one with"):
        check_wiring(joined)


@pytest.mark.parametrize("wiring", get_args(WiringOfPorts))
def test_a_switch_set_otherwise_is_found(wiring: WiringOfPorts) -> None:
    fabric = small(4, wiring)
    right = physical(fabric)
    assert right.keys() == {f"ocs{h}.{k}" for h in range(2) for k in range(2 if wiring == "dual-link" else 4)}
    name = "ocs1.1"
    way = dict(right[name])
    first, second, *_ = way
    swapped = {**way, first: way[second], second: way[first]}
    match = r"port \d of spine\d\.1 sends to port \d of spine.* by port \d of ocs1\.\d, but receives"
    with pytest.raises(TopologyError, match=match):
        check_wiring(fabric, {**right, name: swapped})
    with pytest.raises(TopologyError, match=r"ocs1\.1: ports \d and \d both lead to port \d"):
        check_wiring(fabric, {**right, name: {**way, first: way[second]}})
    with pytest.raises(TopologyError, match=r"ocs1\.1 has no port 8; give a port from 0 to"):
        check_wiring(fabric, {**right, name: {**way, first: 8}})
    dark = {tx: rx for tx, rx in way.items() if tx != first}
    with pytest.raises(TopologyError, match=r"(sends to|receives from) nobody"):
        check_wiring(fabric, {**right, name: dark})


def test_another_fabric_has_no_such_core() -> None:
    with pytest.raises(TopologyError, match="ocs0 belongs to no group of optical switches"):
        core_of(optical_rings(4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lumos(1), "pods is 1; give a whole number of at least 2"),
        (lambda: lumos(spines=0), "spines is 0; give a whole number of at least 1"),
        (
            lambda: lumos(spines=3),
            "16 accelerators of a leaf do not divide evenly over 3 spines; give tau",
        ),
        (
            lambda: lumos(ports=3),
            "ports is 3, which is not even; give an even number: optical switches come in pairs",
        ),
        (lambda: lumos(tau=-1), "tau is -1; give a whole number of at least 0"),
        (lambda: lumos(leaves=1, accelerators=12), "the 12 accelerators of a Pod do not fill servers of 8"),
        (lambda: build("lumos", wiring="cros"), "wiring is 'cros'; give cross, uniform or dual-link"),
        (lambda: build("lumos", inside="ring"), "inside is 'ring'; give mesh or switch"),
        (lambda: lumos(core_delay_ns=-1), "core_delay_ns is -1; give a number of at least 0"),
        (lambda: lumos(ports=50), "links of spine0.0 use 66 of its 64 lanes; use a larger radix"),
        (
            lambda: lumos(ports=254, radix=512),
            "spine0.0 has 256 ports, but a source route can address only",
        ),
        (
            lambda: lumos(1024),
            "1024 Pods of 4 servers of 8 GPUs need addresses of 18 bits, but an address has 16; use fewer",
        ),
    ],
)
def test_what_does_not_fit_says_what_does(make: Callable[[], Fabric], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        make()


def test_an_odd_number_of_cables_leaves_a_port_more() -> None:
    """Optical switches come in pairs."""
    assert core_of(lumos(2, 3, 2, accelerators=2, hb_size=2)).ports == 4
