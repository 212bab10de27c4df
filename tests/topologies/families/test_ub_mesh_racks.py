# SPDX-License-Identifier: Apache-2.0
"""The other ways to build a rack, and the network above SuperPods."""

from collections import Counter
from collections.abc import Callable

import pytest

from topologies import (
    Fabric,
    NodeKind,
    TopologyError,
    full_mesh,
    ub_rack_1dfm_a,
    ub_rack_1dfm_b,
    ub_rack_clos,
)
from topologies.families.ub_mesh.dcn import DcnClos, dcn_clos
from topologies.model.checks import LaneUse, check, lane_audit
from topologies.model.codec import from_json, to_json
from topologies.model.distance import longest_way


def npus(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is NodeKind.NPU]


def used(fabric: Fabric) -> dict[NodeKind, Counter[LaneUse]]:
    audit = lane_audit(fabric)
    uses: dict[NodeKind, Counter[LaneUse]] = {}
    for node in fabric.nodes:
        uses.setdefault(node.kind, Counter())[audit[node.name]] += 1
    return uses


def test_1dfm_a_has_36_lrs_and_four_hrs_of_x256() -> None:
    fabric = ub_rack_1dfm_a()
    assert used(fabric) == {
        NodeKind.NPU: {LaneUse(28 + 16 + 16, 72): 64},
        NodeKind.SPARE: {LaneUse(32, 72): 1},
        NodeKind.CPU: {LaneUse(32, 32): 1},
        NodeKind.LRS: {LaneUse(36, 72): 32, LaneUse(48, 72): 4},
        # As many lanes again lead to other racks.
        NodeKind.HRS: {LaneUse(256, 512): 4},
    }
    assert {link.dimension for link in fabric.links} == {0, None}
    # Any two of one slot are joined by an LRS, any two at all by an HRS.
    assert set(fabric.neighbours("lrs0p0n3")) == {f"npu{8 * board + 3}" for board in range(8)} | {"lrs0p0c0"}
    assert longest_way(fabric, npus(fabric)) == 2


def test_1dfm_b_has_16_lrs_and_eight_hrs_of_x256() -> None:
    fabric = ub_rack_1dfm_b()
    assert used(fabric) == {
        NodeKind.NPU: {LaneUse(28 + 32 + 8, 72): 64},
        NodeKind.SPARE: {LaneUse(32, 72): 1},
        NodeKind.CPU: {LaneUse(32, 32): 1},
        NodeKind.LRS: {LaneUse(36, 72): 16},
        NodeKind.HRS: {LaneUse(256, 512): 8},
    }
    assert longest_way(fabric, npus(fabric)) == 2


def test_a_clos_rack_has_all_lanes_of_npus_on_72_lrs() -> None:
    fabric = ub_rack_clos()
    assert used(fabric) == {
        NodeKind.NPU: {LaneUse(72, 72): 64},
        NodeKind.SPARE: {LaneUse(72, 72): 1},
        NodeKind.CPU: {LaneUse(32, 32): 1},
        NodeKind.LRS: {LaneUse(66, 72): 32, LaneUse(65, 72): 40},
    }
    assert {link.lanes for link in fabric.links} == {1}
    assert len(fabric.links) == 65 * 72 + 32
    assert longest_way(fabric, npus(fabric)) == 2


@pytest.mark.parametrize(
    "fabric",
    [
        ub_rack_1dfm_a(dims=(2, 2), planes=8),
        ub_rack_1dfm_a(dims=(2, 3), planes=1, hrs=1, board_lanes=4, uplink_lanes=4, spares=0, cpus=0),
        ub_rack_1dfm_b(dims=(2, 2), planes=1),
        ub_rack_1dfm_b(dims=(2, 2), planes=2, hrs=1, uplink_lanes=4, spares=0, cpus=0),
        ub_rack_clos(dims=(2, 2), lrs=2),
        ub_rack_clos(dims=(2, 2), lrs=72, cpus=2, spares=0),
    ],
    ids=lambda fabric: fabric.name,
)
def test_small_ones_are_whole(fabric: Fabric) -> None:
    check(fabric)
    assert from_json(to_json(fabric)) == fabric


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ub_rack_1dfm_a(board_lanes=6), r"board_lanes 6 cannot be dealt equally to 4 planes"),
        (lambda: ub_rack_1dfm_a(hrs=3), r"uplink_lanes 16 cannot be dealt equally to 3 hrs"),
        (
            lambda: ub_rack_1dfm_b(planes=3),
            r"lanes towards LRS 8 cannot be dealt equally to 3 planes; .* or other planes",
        ),
        (lambda: ub_rack_1dfm_b(uplink_lanes=64), r"npu0 use 100 of its 72 lanes"),
        (lambda: ub_rack_clos(lanes=2), r"npu0 use 144 of its 72 lanes"),
        (lambda: ub_rack_clos(spares=8, cpus=8, lrs=18, lanes=2), r"lrs0p0n0 use 160 of its 72 lanes"),
        (lambda: ub_rack_clos(spares=9), r"spares is 9; give a whole number from 0 to 8"),
        (lambda: ub_rack_1dfm_a(planes=16), r"planes is 16; give a whole number from 1 to 8"),
        (lambda: ub_rack_clos(lrs=129), r"lrs is 129; give a whole number from 1 to 128"),
        (lambda: ub_rack_1dfm_a(dims=(8,)), r"dims \[8\] do not make a UB-Mesh; give 2 extents"),
    ],
)
def test_what_does_not_fit_says_what_does(make: Callable[[], Fabric], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        make()


# Above SuperPods


def test_thirteen_superpods_are_more_than_100k_npus_on_a_two_level_clos() -> None:
    dcn = dcn_clos(13)
    assert dcn == DcnClos(npus=106_496, leaves=52, spines=32, uplinks=3328, trunks=1664, trunk_lanes=8)
    assert (dcn.switches, dcn.links) == (84, 4992)
    # No leaf has more lanes than a switch, no spine either, and as many go up as come from below.
    assert 3328 * 4 // 52 + 32 * 8 == 512
    assert 52 * 8 <= 512
    assert dcn.trunks * dcn.trunk_lanes == 3328 * 4


def test_a_few_superpods_need_one_switch() -> None:
    assert dcn_clos(2, lanes=128) == DcnClos(16_384, 1, 0, 64, 0, 0)


@pytest.mark.parametrize(
    ("superpods", "more", "message"),
    [
        (0, {}, "superpods is 0"),
        (13, {"lanes": 1022}, "lanes is 1022, which does not make whole links of x4; use a multiple of 4"),
        (13, {"link_lanes": 512}, "link_lanes is 512, which is more than half of a switch of x512"),
        (1000, {}, "1000 SuperPods need 4000 leaves; a spine of x512 reaches 512; use fewer SuperPods or"),
    ],
)
def test_a_dcn_that_two_levels_do_not_reach_is_refused(superpods: int, more: dict, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        dcn_clos(superpods, **more)


# Distances


def test_the_longest_way_is_the_diameter() -> None:
    assert longest_way(full_mesh([3, 2, 4])) == 3
    assert longest_way(full_mesh([3, 2, 4]), ["npu0", "npu3"]) == 1
    assert longest_way(full_mesh([2]), ["npu1"]) == 0


def test_no_way_is_an_error() -> None:
    mesh = full_mesh([3])
    apart = Fabric(**{name: getattr(mesh, name) for name in mesh.__match_args__ if name != "links"}, links=())
    with pytest.raises(
        TopologyError, match="fabric full-mesh-3: some of the 3 nodes cannot reach each other; add links"
    ):
        longest_way(apart)
