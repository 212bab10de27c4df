# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh fabrics with switches: what the paper counts, and that no lane is left over (derived)."""

from collections import Counter
from collections.abc import Callable
from functools import cache

import networkx as nx
import pytest

from topologies import Fabric, NodeKind, TopologyError, ub_pod, ub_pod_clos, ub_rack, ub_rack_lrs, ub_superpod
from topologies.model.checks import LaneUse, check, lane_audit
from topologies.model.codec import from_json, to_json
from topologies.model.distance import longest_way

rack = cache(ub_rack_lrs)
pod = cache(ub_pod)
superpod = cache(ub_superpod)

SMALL = {"planes": 1, "uplink_lanes": 4}


def kinds(fabric: Fabric) -> dict[NodeKind, int]:
    return dict(Counter(node.kind for node in fabric.nodes))


def lanes(fabric: Fabric) -> dict[tuple[NodeKind, int], set[LaneUse]]:
    """Lanes that nodes of a kind and tier use."""
    audit = lane_audit(fabric)
    uses: dict[tuple[NodeKind, int], set[LaneUse]] = {}
    for node in fabric.nodes:
        uses.setdefault((node.kind, node.tier), set()).add(audit[node.name])
    return uses


def of(fabric: Fabric, kind: NodeKind) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is kind]


def rack_of(fabric: Fabric, name: str) -> tuple[int, ...]:
    return fabric.node(name).coordinates[2:]


def between_racks(fabric: Fabric) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Lanes between each two racks."""
    total: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for link in fabric.links:
        if link.dimension in (2, 3):
            rack, other_rack = sorted((rack_of(fabric, link.a.node), rack_of(fabric, link.b.node)))
            total[rack, other_rack] += link.lanes
    return total


# Counts of the paper


def test_a_rack_with_switches_has_the_bare_rack_inside() -> None:
    fabric = rack()
    assert kinds(fabric) == {NodeKind.NPU: 64, NodeKind.SPARE: 1, NodeKind.CPU: 1, NodeKind.LRS: 72}
    bare = ub_rack()
    mesh = fabric.graph().subgraph(of(fabric, NodeKind.NPU))
    assert {frozenset(edge) for edge in mesh.edges} == {frozenset(edge) for edge in bare.graph().edges}
    assert mesh.number_of_edges() == 448
    assert {degree for _, degree in mesh.degree} == {14}
    assert nx.diameter(mesh) == 2
    # The ports to peers are the same ones too, those to switches come after.
    for node in bare.nodes:
        same = fabric.node(node.name)
        assert (same.address, same.coordinates, same.index) == (node.address, node.coordinates, node.index)
        assert same.ports[: len(node.ports)] == node.ports
        assert [port.name for port in same.ports[len(node.ports) :]] == ["p0", "p1", "p2", "p3"]


def test_a_pod_has_1024_npus_and_48_rack_to_rack_links_of_x128() -> None:
    fabric = pod()
    assert kinds(fabric) == {NodeKind.NPU: 1024, NodeKind.SPARE: 16, NodeKind.CPU: 16, NodeKind.LRS: 1152}
    joined = between_racks(fabric)
    assert len(joined) == 48
    assert set(joined.values()) == {128}
    ends = Counter(rack for pair in joined for rack in pair)
    assert set(ends.values()) == {6}
    assert len(ends) == 16
    for (z, w), (other_z, other_w) in joined:
        assert (z == other_z) != (w == other_w)


@pytest.mark.long
def test_a_superpod_has_8192_npus_in_128_racks_behind_64_hrs() -> None:
    fabric = superpod()
    assert kinds(fabric) == {
        NodeKind.NPU: 8192,
        NodeKind.SPARE: 128,
        NodeKind.CPU: 128,
        NodeKind.LRS: 9216,
        NodeKind.HRS: 64,
    }
    assert len({rack_of(fabric, name) for name in of(fabric, NodeKind.NPU)}) == 128
    # An HRS has one link to each rack, on the port of the rack's number.
    for name in of(fabric, NodeKind.HRS):
        ports = fabric.node(name).ports
        assert [port.number for port in ports] == list(range(1, 129))
        peers = [fabric.peer(name, port.number) for port in ports]
        assert [end.node.split("p")[0] for end in peers if end] == [f"lrs{number}" for number in range(128)]
    assert longest_way(fabric) == 6


@pytest.mark.long
def test_no_lane_of_a_superpod_is_left_over() -> None:
    assert lanes(superpod()) == {
        (NodeKind.NPU, 0): {LaneUse(72, 72)},
        (NodeKind.SPARE, 0): {LaneUse(32, 72)},
        (NodeKind.CPU, 0): {LaneUse(32, 32)},
        (NodeKind.LRS, 1): {LaneUse(72, 72)},
        (NodeKind.LRS, 2): {LaneUse(72, 72)},
        (NodeKind.LRS, 3): {LaneUse(72, 72)},
        (NodeKind.HRS, 4): {LaneUse(512, 512)},
    }


def test_a_rack_puts_out_four_times_x256() -> None:
    fabric = superpod()
    out: Counter[tuple[tuple[int, ...], str]] = Counter()
    for link in fabric.links:
        for end in (link.a, link.b):
            node = fabric.node(end.node)
            if node.kind is NodeKind.LRS and (link.dimension in (2, 3) or link.b.node.startswith("hrs")):
                out[node.coordinates[2:], node.name.partition("r")[2].partition("r")[0][-2:]] += link.lanes
    assert len(out) == 128 * 4
    assert set(out.values()) == {256}


@pytest.mark.parametrize("fabric", [rack, pod])
def test_without_hrs_only_switches_towards_them_have_lanes_left(fabric: Callable[[], Fabric]) -> None:
    used = lanes(fabric())
    up = used.pop((NodeKind.LRS, 3))
    assert up == {LaneUse(40 if fabric is rack else 64, 72)}
    assert all(use.unconnected == 0 for (kind, _), some in used.items() if kind != "spare" for use in some)


def test_racks_in_a_clos_fill_32_hrs() -> None:
    fabric = ub_pod_clos()
    assert kinds(fabric)[NodeKind.HRS] == 32
    assert not between_racks(fabric)
    used = lanes(fabric)
    assert used[NodeKind.LRS, 3] == {LaneUse(72, 72)}
    assert used[NodeKind.HRS, 4] == {LaneUse(512, 512)}
    check(fabric)


# Shape


def test_links_lead_up_a_tier_or_along_a_dimension() -> None:
    fabric = pod(hrs_per_lrs=2)
    check(fabric)
    tiers = Counter(
        (fabric.node(link.a.node).tier, fabric.node(link.b.node).tier, link.dimension)
        for link in fabric.links
    )
    assert tiers == {
        (0, 0, 0): 16 * 224,
        (0, 0, 1): 16 * 224,
        (0, 1, None): 1024 * 4,
        (1, 3, None): 16 * 4 * 64,
        (1, 2, None): 16 * 4 * 16,
        (2, 3, None): 16 * 4 * 16,
        (0, 2, None): 16 * 4 * 2,
        (3, 3, 2): 24 * 32,
        (3, 3, 3): 24 * 32,
        (3, 4, None): 16 * 64,
    }


def test_every_plane_reaches_every_npu_and_the_spare() -> None:
    fabric = rack()
    for plane in range(4):
        reached = {
            neighbour
            for board in range(8)
            for neighbour in fabric.neighbours(f"lrs0p{plane}n{board}")
            if neighbour.startswith("npu")
        }
        assert reached == set(of(fabric, NodeKind.NPU))
        assert "spare0" in fabric.neighbours(f"lrs0p{plane}c0")
        assert "cpu0" in fabric.neighbours(f"lrs0p{plane}c1")
    ways = nx.single_source_shortest_path_length(fabric.graph(), "spare0")
    assert {ways[name] for name in of(fabric, NodeKind.NPU)} == {3}


def test_an_lrs_meets_those_in_its_place_and_two_hrs() -> None:
    fabric = pod(hrs_per_lrs=2)
    neighbours = fabric.neighbours("lrs5p2r3")
    assert neighbours[8:10] == ("lrs5p2c0", "lrs5p2c1")
    assert neighbours[10:] == (
        *(f"lrs{number}p2r3" for number in (4, 6, 7, 1, 9, 13)),
        "hrs38",
        "hrs39",
    )


def test_addresses_tell_class_and_place() -> None:
    fabric = superpod()

    def parts(name: str) -> tuple[int, ...]:
        return tuple(fabric.address_plan.unpack(fabric.node(name).address).values())

    assert parts("npu8191") == (0, 7, 3, 3, 7, 7)
    assert parts("spare127") == (1, 7, 3, 3, 0, 0)
    assert parts("cpu6") == (2, 0, 1, 2, 0, 0)
    assert parts("lrs6p3n5") == (3, 0, 1, 2, 6, 5)
    assert parts("lrs6p3r5") == (3, 0, 1, 2, 7, 5)
    assert parts("lrs6p3c1") == (5, 0, 1, 2, 3, 1)
    assert parts("hrs63") == (4, 0, 0, 0, 7, 7)


def test_delays_and_rates_follow_the_kind_of_link() -> None:
    fabric = ub_superpod(
        dims=(2, 2, 2, 2, 2),
        **SMALL,
        lane_rate_gbps=1e-8,
        delay_ns=0.001,
        rack_delay_ns=0.002,
        hrs_delay_ns=0.003,
    )
    assert fabric.link("npu0-npu1").delay_ps == 1
    assert fabric.link("npu0-lrs0p0n0").delay_ps == 1
    assert fabric.link("lrs0p0r0-lrs1p0r0").delay_ps == 2
    assert fabric.link("lrs0p0r0-hrs0").delay_ps == 3
    assert fabric.link("lrs0p0r0-hrs0").rate_bps == 40
    assert fabric.host_delay_ps == 1


# Other sizes


@pytest.mark.parametrize(
    ("fabric", "nodes"),
    [
        (ub_rack_lrs(dims=(2, 2), **SMALL), 4 + 2 + 6),
        (ub_pod(dims=(2, 2, 2, 1), **SMALL), 2 * (4 + 2 + 6)),
        (ub_pod(dims=(2, 2, 2, 1), **SMALL, hrs_per_lrs=1), 2 * (4 + 2 + 6) + 2),
        (ub_pod(dims=(2, 2, 2, 2), **SMALL, spares=0, cpus=0), 4 * (4 + 4)),
        (ub_pod(dims=(2, 2, 1, 1), **SMALL), 4 + 2 + 6),
        (ub_pod_clos(dims=(2, 2, 2, 1), **SMALL), 2 * (4 + 2 + 6) + 2),
        (ub_superpod(dims=(2, 2, 1, 1, 2), **SMALL), 2 * (4 + 2 + 6) + 4),
        (ub_superpod(dims=(4, 2, 1, 1, 1), **SMALL, hrs_per_lrs=0), 8 + 2 + 6),
        (ub_rack_lrs(dims=(1, 2), **SMALL), 2 + 2 + 6),
        (ub_rack_lrs(dims=(8, 8), cpus=4, spares=2), 64 + 6 + 72),
    ],
    ids=lambda value: value.name if isinstance(value, Fabric) else str(value),
)
def test_small_ones_are_whole(fabric: Fabric, nodes: int) -> None:
    check(fabric)
    assert len(fabric.nodes) == nodes
    assert [node.index for node in fabric.nodes] == list(range(nodes))
    assert not any("-" in node.name for node in fabric.nodes)
    assert from_json(to_json(fabric)) == fabric


def test_devices_that_are_several_share_a_planes_lanes() -> None:
    fabric = ub_rack_lrs(cpus=4, spares=2)
    assert of(fabric, NodeKind.CPU) == ["cpu0.0", "cpu0.1", "cpu0.2", "cpu0.3"]
    assert lane_audit(fabric)["cpu0.0"] == LaneUse(8, 32)
    assert lane_audit(fabric)["spare0.1"] == LaneUse(16, 72)
    assert lane_audit(fabric)["lrs0p0c1"] == LaneUse(72, 72)


@pytest.mark.long("16-4-1024", "4-4-256")
@pytest.mark.parametrize(("uplink", "planes", "out"), [(4, 4, 256), (8, 4, 512), (8, 2, 512), (16, 4, 1024)])
def test_what_a_rack_puts_out_follows_the_npus_lanes(uplink: int, planes: int, out: int) -> None:
    fabric = ub_pod(uplink_lanes=uplink, planes=planes, hrs_per_lrs=2)
    check(fabric)
    assert lane_audit(fabric)["npu0"].used == 56 + uplink
    assert set(between_racks(fabric).values()) == {out // 8}
    # Each of a rack's LRS has six racks and two HRS, or eight such links.
    assert 8 * planes * 8 * uplink // planes == out


@pytest.mark.long
def test_x32_takes_eight_planes_and_thinner_links_to_peers() -> None:
    fabric = ub_superpod(dims=(8, 8, 4, 4, 2), uplink_lanes=32, planes=8, lanes=2)
    check(fabric)
    assert kinds(fabric)[NodeKind.HRS] == 128
    assert set(between_racks(fabric).values()) == {256}
    assert lane_audit(fabric)["npu0"] == LaneUse(60, 72)
    assert fabric.node("lrs0p7r1").address != fabric.node("lrs0p3r1").address
    # Or an NPU of more lanes than the paper's.
    check(ub_rack_lrs(uplink_lanes=32, planes=8, host_lanes=88))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ub_rack_lrs(dims=(8, 9)),
            r"dims \[8, 9\] do not make a UB-Mesh; give 2 extents from 1: slots to 8",
        ),
        (lambda: ub_pod(dims=(8, 8)), r"dims \[8, 8\] do not make a UB-Mesh; give 4 extents"),
        (lambda: ub_pod(dims=(8, 8, 5, 4)), r"columns to 4, rows to 4"),
        (
            lambda: ub_superpod(dims=(8, 8, 4, 4, 0)),
            r"dims is \[8, 8, 4, 4, 0\]; give a list of whole numbers of at least 1",
        ),
        (lambda: ub_rack_lrs(dims=(1, 1)), r"dims \[1, 1\] have a single NPU; give at least two"),
        (lambda: ub_rack_lrs(planes=0), r"planes is 0; give a whole number from 1 to 8"),
        (lambda: ub_rack_lrs(planes=9), r"planes is 9; give a whole number from 1 to 8"),
        (
            lambda: ub_rack_lrs(planes=3),
            r"uplink_lanes 16 cannot be dealt equally to 3 planes; use a multiple",
        ),
        (lambda: ub_rack_lrs(uplink_lanes=2), r"uplink_lanes 2 cannot be dealt equally to 4 planes"),
        (lambda: ub_rack_lrs(uplink_lanes=32), r"npu0 use 88 of its 72 lanes; use fewer `lanes` or `uplink"),
        (
            lambda: ub_rack_lrs(uplink_lanes=32, lanes=2),
            r"lrs0p0n0 use 144 of its 72 lanes; use more planes or fewer `uplink_lanes`",
        ),
        (lambda: ub_pod(hrs_per_lrs=3), r"lrs0p0r0 use 76 of its 72 lanes"),
        (lambda: ub_rack_lrs(cpus=9), r"cpus is 9; give a whole number from 0 to 8"),
        (lambda: ub_rack_lrs(spares=-1), r"spares is -1; give a whole number from 0 to 8"),
        (lambda: ub_superpod(hrs_per_lrs=0), r"hrs_per_lrs is 0, but only HRS join Pods"),
        (lambda: ub_pod(rack_delay_ns=-1), r"rack_delay_ns is -1"),
        (lambda: ub_pod(hrs_delay_ns=-1), r"hrs_delay_ns is -1"),
        (lambda: ub_pod(delay_ns=-1), r"delay_ns is -1"),
        (lambda: ub_pod(lane_rate_gbps=0), r"lane_rate_gbps is 0; give a number above 0"),
        (lambda: ub_pod(lanes=0), r"lanes is 0"),
    ],
)
def test_what_does_not_fit_says_what_does(make: Callable[[], Fabric], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        make()
