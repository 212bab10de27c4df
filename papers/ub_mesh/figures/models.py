# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's figures in closed form: parts, cables, cost, availability."""

from __future__ import annotations

from papers.claims import Measured, Progress, Values
from papers.ub_mesh import availability as av
from papers.ub_mesh import cost
from papers.ub_mesh.availability import Rates
from papers.ub_mesh.cost import Prices
from papers.ub_mesh.networks import CLOS_LANES, clos, one_d_a, saved, two_d_clos, ub_mesh
from papers.ub_mesh.structure import TABLE_2, SuperPod, fabric_cable_lanes
from topologies.families.ub_mesh.fabrics import ub_superpod


def parts(note: Progress, **shape: int) -> Values:
    """Count UB-Mesh's lanes, links and switches, and the percentage of HRS and optics saved against Clos.

    `shape` replaces fields of the SuperPod.
    """
    pod = SuperPod(**shape)
    ours, theirs = ub_mesh(pod), clos(CLOS_LANES, pod)
    return {
        "lanes-npu": pod.npu_lanes,
        "lanes-rack": pod.rack_output_lanes,
        "lrs-rack": pod.lrs_per_rack,
        "links-rack": pod.mesh_links_per_rack,
        "links-pod": pod.rack_links_per_pod,
        "hrs": pod.hrs,
        "hrs-saved": Measured(saved(ours.hrs, theirs.hrs), detail=f"{ours.hrs} against {theirs.hrs:,}"),
        "optics-saved": Measured(
            saved(ours.optical_lanes, theirs.optical_lanes),
            detail=f"{ours.optical_lanes:,} lanes against {theirs.optical_lanes:,}",
        ),
    }


def cables(note: Progress, **shape: int) -> Values:
    """Return the percentage of lanes in each kind of cable, and the ratio of active to optical lanes.

    `shape` replaces fields of the SuperPod.
    """
    pod = SuperPod(**shape)
    names = ("passive", "active", "optical", "far")
    lanes = dict(zip(names, (pod.cable_lanes[kind] / pod.npus for kind in TABLE_2), strict=True))
    shares = dict(zip(names, (pod.cable_mix[kind] for kind in TABLE_2), strict=True))
    return {
        **{name: Measured(shares[name], detail=f"lanes an NPU: {lanes[name]:g}") for name in names},
        "ratio": lanes["active"] / lanes["optical"],
    }


def cables_generated(note: Progress, **shape: int) -> Values:
    """Count the lanes by which a generated SuperPod differs from the formula, for all kinds of cable.

    `shape` replaces fields of the formula's SuperPod.
    """
    note("generating the SuperPod", 0.0)
    created, formula = fabric_cable_lanes(ub_superpod()), SuperPod(**shape).cable_lanes
    counted = ", ".join(f"{lanes:,} ({kind})" for kind, lanes in created.items())
    return {
        "different": Measured(
            sum(abs(lanes - formula[kind]) for kind, lanes in created.items()), detail=counted
        )
    }


def cost_figures(
    note: Progress,
    *,
    clos_share: float = 0.67,
    ub_mesh_share: float = 0.20,
    stages: int = 1,
    opex_saved: float = 0.35,
    capex: float = cost.CLOS_CAPEX_RATIO,
) -> Values:
    """Return the networks' shares of the cost, CapEx ratios, the OpEx saved, and the cost-efficiency.

    Args:
        clos_share: the network's share of the cost of x64T Clos, to fit prices.
        ub_mesh_share: the network's share of the cost of UB-Mesh, to fit prices.
        stages: stages of HRS above the racks of 2D-FM.
        opex_saved: share of OpEx saved by UB-Mesh, to fit the power of a node.
        capex: CapEx of the Clos divided by UB-Mesh's, for the cost-efficiency.
    """
    prices = cost.fit_prices(clos_share=clos_share, ub_mesh_share=ub_mesh_share)
    base, ours = clos(CLOS_LANES), ub_mesh()
    node = cost.fit_node_power(saved=opex_saved)
    low, high = (100 * cost.power_saved(watts) for watts in reversed(cost.NODE_WATTS))
    average = sum(cost.PERFORMANCE) / len(cost.PERFORMANCE)
    solved = f"a node {prices.node:,.0f} $, an LRS lane {prices.lrs_lane:.0f} $"
    return {
        "share-clos": Measured(100 * cost.network_share(base, prices), detail=solved),
        "share-ub-mesh": Measured(100 * cost.network_share(ours, prices), detail=solved),
        "capex-2d": Measured(
            cost.capex_ratio(two_d_clos(stages=stages), prices), detail=_copper(clos_share, ub_mesh_share)
        ),
        "capex-1d-a": cost.capex_ratio(one_d_a(), prices),
        "capex-clos": cost.capex_ratio(base, prices),
        "opex": Measured(
            100 * cost.power_saved(node),
            detail=f"a node of {node:,.0f} W; nodes of 700 to 1,275 W would save {high:.0f} to {low:.0f} %",
        ),
        "efficiency": cost.cost_efficiency(average, capex, cost.OPEX_SAVED),
    }


def _copper(clos_share: float, ub_mesh_share: float) -> str:
    """Return a text with the CapEx of 2D-FM at assumed prices of copper; the papers give no price."""
    given: Prices = cost.Prices(passive_lane=10, active_lane=30)
    prices = cost.fit_prices(given=given, clos_share=clos_share, ub_mesh_share=ub_mesh_share)
    return f"{cost.capex_ratio(two_d_clos(), prices):.2f}x with copper at 10 and 30 $ a lane"


def availability(note: Progress, lanes: int = 64, uplink_lanes: int = 16, repairs: float = 1) -> Values:
    """Return availability in percent, failures a year and hours between failures of x64T Clos and UB-Mesh.

    Args:
        lanes: lanes of an NPU on the Clos.
        uplink_lanes: lanes of an NPU out of its rack on UB-Mesh.
        repairs: factor of the time of repairs.
    """
    base, ours = clos(lanes), ub_mesh(SuperPod(uplink_lanes=uplink_lanes))
    fit = av.fit_rates()

    def hours(name: str, rates: Rates) -> float:
        return av.mtbf_hours(av.failures_a_year(base if name == "clos" else ours, rates))

    return {
        "clos": 100 * av.availability(av.CLOS_MTBF, repairs * av.MTTR_HOURS),
        "ub-mesh": 100 * av.availability(av.UB_MESH_MTBF, repairs * av.MTTR_HOURS),
        "monitored": 100 * av.availability(av.UB_MESH_MTBF, repairs * av.MONITORED_MTTR_HOURS),
        "failures-clos": av.failures_a_year(base, fit),
        "failures-ub-mesh": av.failures_a_year(ours, fit),
        "mtbf-clos": hours("clos", av.HPN_RATES),
        "mtbf-ub-mesh": hours("ub-mesh", av.HPN_RATES),
        "mtbf-ratio": hours("ub-mesh", av.HPN_RATES) / hours("clos", av.HPN_RATES),
    }
