# SPDX-License-Identifier: Apache-2.0
"""The closed-form models: what is counted is what a generator makes, what is fitted says so."""

from collections.abc import Callable, Sequence

import pytest

from papers.claims.model_figure import Figure, Kind, report
from papers.claims.picture import ratios_svg
from papers.ub_mesh import availability, cost, linearity, networks, structure
from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError
from topologies.families.ub_mesh.fabrics import ub_superpod
from topologies.model.fabric import Fabric, NodeKind

SETS: Sequence[Callable[[], Sequence[Figure]]] = (
    structure.count_figures,
    structure.cable_figures,
    networks.saved_figures,
    cost.capex_figures,
    cost.opex_figures,
    cost.efficiency_figures,
    availability.availability_figures,
    availability.mtbf_figures,
    linearity.linearity_figures,
)

ALL = {figure.name: figure for figures in SETS for figure in figures()}


@pytest.fixture(scope="module")
def superpod() -> Fabric:
    return ub_superpod()


def test_names_are_unique():
    assert len(ALL) == sum(len(figures()) for figures in SETS)


@pytest.mark.parametrize("figure", ALL.values(), ids=lambda figure: figure.name)
def test_a_figure_holds_or_says_why_not(figure: Figure):
    assert figure.source
    if figure.judged and not figure.holds:
        assert figure.known
        assert figure.reason
    else:
        assert not figure.known


@pytest.mark.parametrize("figure", ALL.values(), ids=lambda figure: figure.name)
def test_what_was_fitted_is_not_judged_and_names_what_was_solved(figure: Figure):
    if figure.kind is Kind.fitted:
        assert not figure.judged
        assert "solved" in figure.reason or "set to" in figure.reason


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("lanes of an NPU", 72),
        ("lanes out of a rack", 1024),
        ("LRS of a rack", 72),
        ("links between NPUs of a rack", 448),
        ("links between racks of a Pod", 48),
        ("HRS of a SuperPod", 64),
        ("HRS saved", 97.917),
        ("optical modules saved", 93.75),
        ("cables, passive, 1 m", 86.25),
        ("cables, active, 10 m", 7.5),
        ("cables, optical, 100 m", 5.0),
        ("CapEx of 2D-FM + x16 Clos", 1.134),
        ("CapEx of 1D-FM-A + x16 Clos", 1.284),
        ("CapEx of 1D-FM-B + x32 Clos", 1.647),
        ("CapEx of x32 Clos", 1.612),
        ("CapEx of x64T Clos", 0.80 / 0.33),
        ("cost-efficiency, from the paper's ratios", 2.0645),
        ("cost-efficiency, CapEx from the network's shares", 2.0409),
        ("availability, Clos", 91.694),
        ("availability, UB-Mesh", 98.747),
        ("availability, UB-Mesh monitored", 99.7805),
        ("failures a year, Clos", 634.78),
        ("failures a year, UB-Mesh", 88.934),
        ("MTBF, Clos, rates of HPN", 9.573),
        ("MTBF, UB-Mesh, rates of HPN", 77.65),
    ],
)
def test_figures_are_what_they_were(name: str, ours: float):
    assert ALL[name].ours == pytest.approx(ours, rel=5e-4)


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


def test_linearity_falls_with_scale_and_never_exceeds_one():
    scales = [linearity.linearity(npus, 0.1) for npus in (1024, 8192, 65536)]
    assert scales[0] == 1
    assert scales == sorted(scales, reverse=True)
    assert linearity.linearity(65536, 0) == 1


def test_the_largest_exposed_share_is_the_one_that_gives_that_linearity():
    room = linearity.largest_exposed(65536, 0.95)
    assert linearity.linearity(65536, room) == pytest.approx(0.95)
    assert linearity.largest_exposed(1024, 0.95) == 1


@pytest.mark.parametrize(("npus", "exposed", "told"), [(8192, 1.5, "no share"), (64, 0.1, "below the base")])
def test_linearity_refuses_what_makes_no_sense(npus: int, exposed: float, told: str):
    with pytest.raises(RailyardError, match=told):
        linearity.linearity(npus, exposed)


def test_the_report_of_a_figure():
    figures = [
        Figure("one", "a paper", 2.0, 1.9, "x", Kind.predicted, 0.1, "because"),
        Figure("two", "here", None, 12_345, "", Kind.counted, digits=0),
        Figure("three", "a paper", 50.0, 50.25, "%", Kind.fitted),
    ]
    assert report(figures).splitlines() == [
        "one: paper 2x, ours 1.9x, -5.0 % (predicted)",
        "    because",
        "two: paper -, ours 12,345, - (counted)",
        "three: paper 50 %, ours 50.25 %, +0.25 pp (fitted)",
    ]


def test_the_picture_shows_every_ratio_and_is_the_same_every_time():
    figures = (*cost.capex_figures(), *cost.efficiency_figures())
    picture = ratios_svg(figures)
    assert picture == ratios_svg(figures)
    for figure in figures:
        assert (figure.name in picture) is (figure.unit == "x")
    assert "paper 2.46" in picture
