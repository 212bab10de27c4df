# SPDX-License-Identifier: Apache-2.0
"""The closed-form models: what is counted is what a generator makes, what is fitted says so."""

import pytest

from papers.ub_mesh import availability, cost, networks, structure
from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError
from topologies.families.ub_mesh.fabrics import ub_superpod
from topologies.model.fabric import Fabric, NodeKind


@pytest.fixture(scope="module")
def superpod() -> Fabric:
    return ub_superpod()


@pytest.mark.parametrize(
    ("ratio", "parts"),
    [
        (1.134, networks.two_d_clos()),
        (1.284, networks.one_d_a()),
        (1.647, networks.one_d_b()),
        (1.612, networks.clos(32)),
        (0.80 / 0.33, networks.clos()),
    ],
    ids=["2D-FM", "1D-FM-A", "1D-FM-B", "x32 Clos", "x64T Clos"],
)
def test_networks_cost_what_they_did(ratio: float, parts: networks.Parts):
    assert cost.capex_ratio(parts, cost.fit_prices()) == pytest.approx(ratio, rel=5e-4)


@pytest.mark.long
def test_the_generated_superpod_has_the_cables_and_switches_of_the_formula(superpod: Fabric):
    kinds = [node.kind for node in superpod.nodes]
    assert kinds.count(NodeKind.NPU) == SUPERPOD.npus == 8192
    assert kinds.count(NodeKind.LRS) == SUPERPOD.lrs == 9216
    assert kinds.count(NodeKind.HRS) == SUPERPOD.hrs == 64
    created = structure.fabric_cable_lanes(superpod)
    assert created == {kind: SUPERPOD.cable_lanes[kind] for kind in created}


@pytest.mark.long
def test_the_copper_of_the_formula_is_the_generated_racks_kind_by_kind(superpod: Fabric):
    lanes = dict.fromkeys(SUPERPOD.copper_lanes_per_rack, 0)
    for link in superpod.links:
        ends = {superpod.node(link.a.node).kind, superpod.node(link.b.node).kind}
        if NodeKind.HRS in ends or link.dimension in (2, 3):
            continue
        if ends & {NodeKind.CPU, NodeKind.SPARE}:
            lanes["LRS to CPU and spare NPU"] += link.lanes
        elif ends == {NodeKind.NPU}:
            lanes["NPU to NPU"] += link.lanes
        else:
            lanes["NPU to LRS" if NodeKind.NPU in ends else "LRS to LRS"] += link.lanes
    assert lanes == {kind: count * SUPERPOD.racks for kind, count in SUPERPOD.copper_lanes_per_rack.items()}


def test_a_plane_uses_every_lane_of_its_switches():
    racks = SUPERPOD.copper_lanes_per_rack
    ends = 2 * racks["LRS to LRS"] + racks["NPU to LRS"] + racks["LRS to CPU and spare NPU"]
    assert ends + SUPERPOD.rack_output_lanes == SUPERPOD.lrs_per_rack * SUPERPOD.lrs_lanes


def test_the_racks_of_1d_fm_a_close_as_well():
    """Four HRS of x512 a rack: x16 of 64 NPUs down, as much up; the stage above takes all of it."""
    parts = networks.one_d_a()
    racks = SUPERPOD.racks
    assert 4 * 512 == 2 * 64 * 16
    assert parts.hrs - 4 * racks == 64 * 16 * racks // 512
    assert parts.optical_lanes == 64 * 16 * racks


def test_a_wider_uplink_grows_what_leaves_the_rack_and_the_hrs():
    wide = SuperPod(uplink_lanes=32)
    assert wide.rack_output_lanes == 2048
    assert wide.hrs == (2048 - 6 * 128) * 128 // 512


def test_fitted_prices_give_the_shares_they_were_fitted_to():
    prices = cost.fit_prices(clos_share=0.5, ub_mesh_share=0.15)
    for parts, share in ((networks.clos(), 0.5), (networks.ub_mesh(), 0.15)):
        assert cost.network_cost(parts, prices) / cost.capex(parts, prices) == pytest.approx(share)


def test_an_lrs_lane_comes_out_cheaper_than_an_hrs_lane():
    prices = cost.fit_prices()
    assert 0 < prices.lrs_lane < prices.hrs_lane / 3


def test_prices_that_leave_nothing_for_lrs_are_refused():
    with pytest.raises(RailyardError, match="lower the price of copper"):
        cost.fit_prices(given=cost.Prices(passive_lane=100))


def test_the_nodes_power_is_the_one_that_saves_what_it_was_fitted_to():
    node = cost.fit_node_power(saved=0.3)
    assert cost.power_saved(node) == pytest.approx(0.3)
    assert cost.power_saved(2 * node) < 0.3


def test_cost_efficiency_of_equals_is_one():
    assert cost.cost_efficiency(1, 1, 0) == pytest.approx(1)
    assert cost.cost_efficiency(1, 1, 0, of_clos=True) == pytest.approx(1)
    assert cost.cost_efficiency(0.9455, 2.46, 0.35, of_clos=True) == pytest.approx(1.97, abs=0.01)


def test_fitted_rates_give_the_mtbfs_they_were_fitted_to():
    rates = availability.fit_rates()
    assert rates.switch > 0
    assert rates.optical_lane > 0
    for parts, mtbf in ((networks.clos(), 13.8), (networks.ub_mesh(), 98.5)):
        assert availability.mtbf_hours(availability.failures_a_year(parts, rates)) == pytest.approx(mtbf)


def test_mtbf_of_what_never_fails_is_refused():
    with pytest.raises(RailyardError, match="above 0"):
        availability.mtbf_hours(0)
