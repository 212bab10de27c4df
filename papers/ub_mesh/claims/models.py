# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's figures that a closed formula gives: parts, cables, cost, availability."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from papers.claims import (
    Check,
    Claim,
    Kind,
    Measured,
    Progress,
    Values,
    around,
    between,
    changed,
    exactly,
)

if TYPE_CHECKING:
    from papers.ub_mesh.availability import Rates
    from papers.ub_mesh.cost import Prices

__all__ = ["CHECKS"]

_stated = partial(Claim, kind=Kind.stated)
_derived = partial(Claim, kind=Kind.derived)
_fitted = partial(Claim, kind=Kind.fitted)
_identity = partial(Claim, kind=Kind.identity, mutation=None)

_WIDE = changed("x32 lanes of an NPU out of its rack", uplink_lanes=32)
_SHORT = changed("boards of 4 NPUs, rows of 2 racks", slots=4, columns=2)

PARTS = (
    _fitted(name="lanes-npu", text="lanes of an NPU", place="UB-Mesh §3.2.1, Table 3", unit="lanes",
            paper=exactly(72), holds=exactly(72), mutation=_WIDE,
            reason="7 x4 and 7 x4 to peers, x16 up; the x4 is the number that makes 72"),
    _identity(name="lanes-rack", text="lanes out of a rack", place="UB-Mesh §3.3.1: four x256", unit="lanes",
              paper=exactly(1024), holds=exactly(1024), reason="64 NPUs of x16, both the paper's"),
    _stated(name="lrs-rack", text="LRS of a rack", place="UB-Mesh §6.2, first version", unit="LRS",
            paper=exactly(48), holds=exactly(48), expected=exactly(72), mutation=changed(
                "the first version's 48 LRS", given_lrs_per_rack=48),
            reason="a later version puts 18 LRS on a plane, and four planes give the rack its four x256"),
    _derived(name="links-rack", text="links between NPUs of a rack", place="UB-Mesh §3.3.1", unit="links",
             holds=exactly(448), mutation=_SHORT),
    _derived(name="links-pod", text="links between racks of a Pod", place="UB-Mesh §3.3.3", unit="links",
             holds=exactly(48), mutation=_SHORT),
    _derived(name="hrs", text="HRS of a SuperPod", place="UB-Mesh §3.3.4: x256 a rack, one stage", unit="HRS",
             holds=exactly(64), mutation=_WIDE),
    _stated(name="hrs-saved", text="HRS saved against x64T Clos", place="UB-Mesh §6.4", unit="%",
            paper=exactly(98), holds=around(98, 0.5), mutation=_WIDE,
            reason="the Clos's two stages are derived; in one it would be 93.75 %"),
    _stated(name="optics-saved", text="optical modules saved against x64T Clos", place="UB-Mesh §6.4",
            unit="%",
            paper=exactly(93), holds=around(93, 1), mutation=_WIDE,
            reason="cables beyond the SuperPod, which both have, are not counted"),
)  # fmt: skip


def _parts(note: Progress, **shape: int) -> Values:
    from papers.ub_mesh.networks import CLOS_LANES, clos, saved, ub_mesh
    from papers.ub_mesh.structure import SuperPod

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
    _stated(name="passive", text="cables, passive, 1 m", place="UB-Mesh Table 2", unit="%",
            paper=exactly(86.7),
            holds=around(86.7, 0.5), mutation=_WIDE),
    _stated(name="active", text="cables, active, 10 m", place="UB-Mesh Table 2", unit="%", paper=exactly(7.2),
            holds=around(7.2, 0.5), mutation=_WIDE),
    _stated(name="optical", text="cables, optical, 100 m", place="UB-Mesh Table 2", unit="%",
            paper=exactly(4.8),
            holds=around(4.8, 0.5), mutation=_WIDE),
    _fitted(name="far", text="cables, optical, 1 km", place="UB-Mesh Table 2, recalled", unit="%",
            paper=exactly(1.2), holds=around(1.2, 0.1), mutation=_WIDE,
            reason="lanes beyond the SuperPod are not in the paper; set to a quarter of those to HRS, the"
            " ratio of this share to the one of 100 m"),
    _derived(name="ratio", text="active to 100 m optical cable", place="UB-Mesh Table 2: 7.2 to 4.8",
             unit="x",
             holds=around(1.5, 0.01), mutation=_WIDE),
)  # fmt: skip


def _cables(note: Progress, **shape: int) -> Values:
    from papers.ub_mesh.structure import TABLE_2, SuperPod

    pod = SuperPod(**shape)
    names = ("passive", "active", "optical", "far")
    lanes = dict(zip(names, (pod.cable_lanes[kind] / pod.npus for kind in TABLE_2), strict=True))
    shares = dict(zip(names, (pod.cable_mix[kind] for kind in TABLE_2), strict=True))
    return {
        **{name: Measured(shares[name], detail=f"lanes an NPU: {lanes[name]:g}") for name in names},
        "ratio": lanes["active"] / lanes["optical"],
    }


GENERATED = (
    _derived(name="different",
             text="lanes of cable in the generated SuperPod that the formula has not, or lacks",
             place="formula of the check cables", unit="lanes", holds=exactly(0),
             mutation=changed("a formula with x3 to each peer", peer_lanes=3)),
)  # fmt: skip


def _generated(note: Progress, **shape: int) -> Values:
    from papers.ub_mesh.structure import SuperPod, fabric_cable_lanes
    from topologies.families.ub_mesh.fabrics import ub_superpod

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
    _fitted(name="share-clos", text="network's share of the cost, x64T Clos", place=_FIG_21, unit="%",
            paper=exactly(67), holds=around(67, 0.1), mutation=changed("fitted to 60 %", clos_share=0.6)),
    _fitted(name="share-ub-mesh", text="network's share of the cost, UB-Mesh", place=_FIG_21, unit="%",
            paper=exactly(20), holds=around(20, 0.1), mutation=changed("fitted to 25 %", ub_mesh_share=0.25)),
    _stated(name="capex-2d", text="CapEx of 2D-FM + x16 Clos", place=_FIG_21, unit="x", paper=exactly(1.18),
            holds=around(1.18, 0.06), mutation=changed("HRS in two stages", stages=2)),
    _stated(name="capex-1d-a", text="CapEx of 1D-FM-A + x16 Clos", place=_FIG_21, unit="x",
            paper=exactly(1.26),
            holds=around(1.26, 0.06), mutation=changed("fitted to 30 % of UB-Mesh", ub_mesh_share=0.3),
            reason="36 LRS and four HRS a rack, one stage above them"),
    _identity(name="capex-clos", text="CapEx of x64T Clos", place=_FIG_21, unit="x", paper=exactly(2.46),
              holds=around(2.46, 0.12), reason="0.80 / 0.33: the paper's two shares, whatever the parts"),
    _fitted(name="opex", text="OpEx saved, taken as power", place="UB-Mesh §6.4", unit="%", paper=exactly(35),
            holds=around(35, 0.1), mutation=changed("fitted to 30 %", opex_saved=0.3),
            reason="the power of a node was solved from it"),
    _identity(name="efficiency", text="cost-efficiency", place="UB-Mesh §6.4, equation 1", unit="x",
              paper=exactly(2.04), holds=around(2.04, 0.04),
              reason="the paper's ratios in its equation; with OpEx's 30 % taken of the Clos's total it"
              " would be 1.97"),
)  # fmt: skip


def _cost(
    note: Progress,
    *,
    clos_share: float = 0.67,
    ub_mesh_share: float = 0.20,
    stages: int = 1,
    opex_saved: float = 0.35,
) -> Values:
    from papers.ub_mesh import cost
    from papers.ub_mesh.networks import CLOS_LANES, clos, one_d_a, two_d_clos, ub_mesh

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
    from papers.ub_mesh import cost
    from papers.ub_mesh.networks import two_d_clos

    given: Prices = cost.Prices(passive_lane=10, active_lane=30)
    prices = cost.fit_prices(given=given, clos_share=clos_share, ub_mesh_share=ub_mesh_share)
    return f"{cost.capex_ratio(two_d_clos(), prices):.2f}x with copper at 10 and 30 $ a lane"


_SECTION = "UB-Mesh §6.6"

AVAILABILITY = (
    *(
        _identity(name=name, text=f"availability, {text}", place=f"{_SECTION}, equation 3", unit="%",
                  paper=exactly(paper), holds=around(paper, 0.1),
                  reason="the paper's MTBF and MTTR in its equation")
        for name, text, paper in (
            ("clos", "Clos", 91.6), ("ub-mesh", "UB-Mesh", 98.8), ("monitored", "UB-Mesh monitored", 99.78))
    ),
    _fitted(name="failures-clos", text="failures a year, Clos", place=f"{_SECTION}: from its 13.8 h",
            paper=exactly(634.8), holds=around(634.8, 0.1), mutation=changed("Clos of x32", lanes=32),
            reason="rates of a switch and of an optical lane were solved from the paper's two MTBFs"),
    _fitted(name="failures-ub-mesh", text="failures a year, UB-Mesh", place=f"{_SECTION}: from its 98.5 h",
            paper=exactly(88.9), holds=around(88.9, 0.1), mutation=changed("x32 out of a rack",
            uplink_lanes=32),
            reason="rates of a switch and of an optical lane were solved from the paper's two MTBFs"),
    _stated(name="mtbf-clos", text="MTBF, Clos, rates of HPN", place=_SECTION, unit="h", paper=exactly(13.8),
            holds=around(13.8, 1.4), expected=around(9.6, 0.3), mutation=changed("Clos of x32", lanes=32),
            reason="HPN's optical links fail more often than those that the paper's MTBFs imply"),
    _stated(name="mtbf-ub-mesh", text="MTBF, UB-Mesh, rates of HPN", place=_SECTION, unit="h",
            paper=exactly(98.5),
            holds=around(98.5, 9.8), expected=around(77.6, 2),
            mutation=changed("x32 out of a rack", uplink_lanes=32),
            reason="HPN's optical links fail more often than those that the paper's MTBFs imply"),
    _stated(name="mtbf-ratio", text="MTBF, UB-Mesh to Clos, rates of HPN", place=_SECTION, unit="x",
            paper=exactly(7.14), holds=around(7.14, 0.7), expected=between(7.9, 8.3),
            mutation=changed("Clos of x32", lanes=32),
            reason="links that fail more often weigh on the Clos, which has 16 times the fibre"),
)  # fmt: skip


def _availability(note: Progress, lanes: int = 64, uplink_lanes: int = 16) -> Values:
    """`lanes` of an NPU on the Clos; `uplink_lanes` of an NPU of UB-Mesh out of its rack."""
    from papers.ub_mesh import availability as av
    from papers.ub_mesh.networks import clos, ub_mesh
    from papers.ub_mesh.structure import SuperPod

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
