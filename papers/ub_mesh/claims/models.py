# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's figures that a closed formula gives: parts, cables, cost, availability."""

from __future__ import annotations

from functools import partial

from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import around, between, changed, derived, fitted, identity, stated
from papers.ub_mesh import availability as av
from papers.ub_mesh import cost
from papers.ub_mesh.availability import Rates
from papers.ub_mesh.cost import Prices
from papers.ub_mesh.networks import CLOS_LANES, clos, one_d_a, saved, two_d_clos, ub_mesh
from papers.ub_mesh.structure import TABLE_2, SuperPod, fabric_cable_lanes
from topologies.families.ub_mesh.fabrics import ub_superpod

__all__ = ["CHECKS"]


_WIDE = changed("x32 lanes of an NPU out of its rack", uplink_lanes=32)
_SHORT = changed("boards of 4 NPUs, rows of 2 racks", slots=4, columns=2)

PARTS = (
    fitted(
        "lanes-npu",
        "lanes of an NPU",
        72,
        "lanes",
        _WIDE,
        place="UB-Mesh §3.2.1, Table 3",
        reason="7 x4 and 7 x4 to peers, x16 up; the x4 is the number that makes 72",
    ),
    identity(
        "lanes-rack",
        "lanes out of a rack",
        1024,
        "lanes",
        place="UB-Mesh §3.3.1: four x256",
        reason="64 NPUs of x16, both the paper's",
    ),
    stated(
        "lrs-rack",
        "LRS of a rack",
        48,
        "LRS",
        changed("the first version's 48 LRS", given_lrs_per_rack=48),
        place="UB-Mesh §6.2, first version",
        expected=72,
        reason="a later version puts 18 LRS on a plane, and four planes give the rack its four x256",
    ),
    derived("links-rack", "links between NPUs of a rack", 448, "links", _SHORT, place="UB-Mesh §3.3.1"),
    derived("links-pod", "links between racks of a Pod", 48, "links", _SHORT, place="UB-Mesh §3.3.3"),
    derived("hrs", "HRS of a SuperPod", 64, "HRS", _WIDE, place="UB-Mesh §3.3.4: x256 a rack, one stage"),
    stated(
        "hrs-saved",
        "HRS saved against x64T Clos",
        98,
        "%",
        _WIDE,
        place="UB-Mesh §6.4",
        within=0.5,
        reason="the Clos's two stages are derived; in one it would be 93.75 %",
    ),
    stated(
        "optics-saved",
        "optical modules saved against x64T Clos",
        93,
        "%",
        _WIDE,
        place="UB-Mesh §6.4",
        within=1,
        reason="cables beyond the SuperPod, which both have, are not counted",
    ),
)


def _parts(note: Progress, **shape: int) -> Values:
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


CABLES = (
    stated("passive", "cables, passive, 1 m", 86.7, "%", _WIDE, place="UB-Mesh Table 2", within=0.5),
    stated("active", "cables, active, 10 m", 7.2, "%", _WIDE, place="UB-Mesh Table 2", within=0.5),
    stated("optical", "cables, optical, 100 m", 4.8, "%", _WIDE, place="UB-Mesh Table 2", within=0.5),
    fitted(
        "far",
        "cables, optical, 1 km",
        1.2,
        "%",
        _WIDE,
        place="UB-Mesh Table 2, recalled",
        within=0.1,
        reason="lanes beyond the SuperPod are not in the paper; set to a quarter of those to HRS, the"
        " ratio of this share to the one of 100 m",
    ),
    derived(
        "ratio",
        "active to 100 m optical cable",
        1.5,
        "x",
        _WIDE,
        place="UB-Mesh Table 2: 7.2 to 4.8",
        within=0.01,
    ),
)


def _cables(note: Progress, **shape: int) -> Values:
    pod = SuperPod(**shape)
    names = ("passive", "active", "optical", "far")
    lanes = dict(zip(names, (pod.cable_lanes[kind] / pod.npus for kind in TABLE_2), strict=True))
    shares = dict(zip(names, (pod.cable_mix[kind] for kind in TABLE_2), strict=True))
    return {
        **{name: Measured(shares[name], detail=f"lanes an NPU: {lanes[name]:g}") for name in names},
        "ratio": lanes["active"] / lanes["optical"],
    }


GENERATED = (
    derived(
        "different",
        "lanes of cable in the generated SuperPod that the formula has not, or lacks",
        0,
        "lanes",
        changed("a formula with x3 to each peer", peer_lanes=3),
        place="formula of the check cables",
    ),
)


def _generated(note: Progress, **shape: int) -> Values:
    note("generating the SuperPod", 0.0)
    created, formula = fabric_cable_lanes(ub_superpod()), SuperPod(**shape).cable_lanes
    counted = ", ".join(f"{lanes:,} ({kind})" for kind, lanes in created.items())
    return {
        "different": Measured(
            sum(abs(lanes - formula[kind]) for kind, lanes in created.items()), detail=counted
        )
    }


_FIG_21 = "UB-Mesh §6.4, Fig. 21"

COST = (
    fitted(
        "share-clos",
        "network's share of the cost, x64T Clos",
        67,
        "%",
        changed("fitted to 60 %", clos_share=0.6),
        place=_FIG_21,
        within=0.1,
    ),
    fitted(
        "share-ub-mesh",
        "network's share of the cost, UB-Mesh",
        20,
        "%",
        changed("fitted to 25 %", ub_mesh_share=0.25),
        place=_FIG_21,
        within=0.1,
    ),
    stated(
        "capex-2d",
        "CapEx of 2D-FM + x16 Clos",
        1.18,
        "x",
        changed("HRS in two stages", stages=2),
        place=_FIG_21,
        within=0.06,
    ),
    stated(
        "capex-1d-a",
        "CapEx of 1D-FM-A + x16 Clos",
        1.26,
        "x",
        changed("fitted to 30 % of UB-Mesh", ub_mesh_share=0.3),
        place=_FIG_21,
        within=0.06,
        reason="36 LRS and four HRS a rack, one stage above them",
    ),
    identity(
        "capex-clos",
        "CapEx of x64T Clos",
        2.46,
        "x",
        place=_FIG_21,
        within=0.12,
        reason="0.80 / 0.33: the paper's two shares, whatever the parts",
    ),
    fitted(
        "opex",
        "OpEx saved, taken as power",
        35,
        "%",
        changed("fitted to 30 %", opex_saved=0.3),
        place="UB-Mesh §6.4",
        within=0.1,
        reason="the power of a node was solved from it",
    ),
    identity(
        "efficiency",
        "cost-efficiency",
        2.04,
        "x",
        place="UB-Mesh §6.4, equation 1",
        within=0.04,
        reason="the paper's ratios in its equation; with OpEx's 30 % taken of the Clos's total it"
        " would be 1.97",
    ),
)


def _cost(
    note: Progress,
    *,
    clos_share: float = 0.67,
    ub_mesh_share: float = 0.20,
    stages: int = 1,
    opex_saved: float = 0.35,
) -> Values:
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
        "efficiency": cost.cost_efficiency(average, cost.CLOS_CAPEX_RATIO, cost.OPEX_SAVED),
    }


def _copper(clos_share: float, ub_mesh_share: float) -> str:
    """Return what moves when copper, which neither paper prices, has a price."""
    given: Prices = cost.Prices(passive_lane=10, active_lane=30)
    prices = cost.fit_prices(given=given, clos_share=clos_share, ub_mesh_share=ub_mesh_share)
    return f"{cost.capex_ratio(two_d_clos(), prices):.2f}x with copper at 10 and 30 $ a lane"


_SECTION = "UB-Mesh §6.6"

_X32_CLOS = changed("Clos of x32", lanes=32)
_X32_OUT = changed("x32 out of a rack", uplink_lanes=32)
_solved = partial(
    fitted,
    within=0.1,
    reason="rates of a switch and of an optical lane were solved from the paper's two MTBFs",
)
_mtbf = partial(
    stated,
    place=_SECTION,
    reason="HPN's optical links fail more often than those that the paper's MTBFs imply",
)

AVAILABILITY = (
    *(
        identity(
            name,
            f"availability, {text}",
            paper,
            "%",
            place=f"{_SECTION}, equation 3",
            within=0.1,
            reason="the paper's MTBF and MTTR in its equation",
        )
        for name, text, paper in (
            ("clos", "Clos", 91.6),
            ("ub-mesh", "UB-Mesh", 98.8),
            ("monitored", "UB-Mesh monitored", 99.78),
        )
    ),
    _solved(
        "failures-clos", "failures a year, Clos", 634.8, "", _X32_CLOS, place=f"{_SECTION}: from its 13.8 h"
    ),
    _solved(
        "failures-ub-mesh",
        "failures a year, UB-Mesh",
        88.9,
        "",
        _X32_OUT,
        place=f"{_SECTION}: from its 98.5 h",
    ),
    _mtbf(
        "mtbf-clos", "MTBF, Clos, rates of HPN", 13.8, "h", _X32_CLOS, within=1.4, expected=around(9.6, 0.3)
    ),
    _mtbf(
        "mtbf-ub-mesh",
        "MTBF, UB-Mesh, rates of HPN",
        98.5,
        "h",
        _X32_OUT,
        within=9.8,
        expected=around(77.6, 2),
    ),
    stated(
        "mtbf-ratio",
        "MTBF, UB-Mesh to Clos, rates of HPN",
        7.14,
        "x",
        _X32_CLOS,
        place=_SECTION,
        within=0.7,
        expected=between(7.9, 8.3),
        reason="links that fail more often weigh on the Clos, which has 16 times the fibre",
    ),
)


def _availability(note: Progress, lanes: int = 64, uplink_lanes: int = 16) -> Values:
    """`lanes` of an NPU on the Clos; `uplink_lanes` of an NPU of UB-Mesh out of its rack."""
    base, ours = clos(lanes), ub_mesh(SuperPod(uplink_lanes=uplink_lanes))
    fit = av.fit_rates()

    def hours(name: str, rates: Rates) -> float:
        return av.mtbf_hours(av.failures_a_year(base if name == "clos" else ours, rates))

    return {
        "clos": 100 * av.availability(av.CLOS_MTBF, av.MTTR_HOURS),
        "ub-mesh": 100 * av.availability(av.UB_MESH_MTBF, av.MTTR_HOURS),
        "monitored": 100 * av.availability(av.UB_MESH_MTBF, av.MONITORED_MTTR_HOURS),
        "failures-clos": av.failures_a_year(base, fit),
        "failures-ub-mesh": av.failures_a_year(ours, fit),
        "mtbf-clos": hours("clos", av.HPN_RATES),
        "mtbf-ub-mesh": hours("ub-mesh", av.HPN_RATES),
        "mtbf-ratio": hours("ub-mesh", av.HPN_RATES) / hours("clos", av.HPN_RATES),
    }


CHECKS = (
    Check("parts", "ub-mesh", "lanes, links and switches; HRS and optics saved", PARTS, _parts),
    Check("cables", "ub-mesh", "the mix of cables of Table 2", CABLES, _cables),
    Check("cables-generated", "ub-mesh", "the same lanes in a generated SuperPod", GENERATED, _generated),
    Check("cost", "ub-mesh", "CapEx, OpEx and cost-efficiency of Fig. 21", COST, _cost),
    Check("availability", "ub-mesh", "MTBF and availability of 8,192 NPUs", AVAILABILITY, _availability),
)
