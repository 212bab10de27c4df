# SPDX-License-Identifier: Apache-2.0
"""CapEx, OpEx and cost-efficiency (UB-Mesh, §6.4, Fig. 21 and equation 1).

The paper publishes ratios and no prices. Two prices and two powers come from another paper, Rail-only (arXiv
2307.12169): a switch port 694 $ and 18 W, an optical module 199 $ and 9 W; a port is taken for x4, and a
module serves one. Two prices are fitted to two ratios of UB-Mesh, the network's share of the cost on either
side (67 % and 20 %): what a node costs without its network, and what a lane of an LRS costs. The node's power
is fitted to a third, the 35 % of OpEx saved. The networks between the two ends are then predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from papers.ub_mesh.networks import CLOS_LANES, Parts, clos, ub_mesh
from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError

__all__ = [
    "Power",
    "Prices",
    "capex",
    "capex_ratio",
    "cost_efficiency",
    "fit_node_power",
    "fit_prices",
    "network_cost",
    "network_share",
    "network_watts",
    "power_saved",
]

LANES_PER_PORT = 4

# UB-Mesh, §6.4.
CLOS_NETWORK_SHARE = 0.67
UB_MESH_NETWORK_SHARE = 0.20
OPEX_SAVED = 0.35
OPEX_SHARE = 0.30
CLOS_CAPEX_RATIO = 2.46

# Training performance of UB-Mesh as a share of the Clos's, smallest and largest (UB-Mesh, §6.2, Fig. 17).
PERFORMANCE = (0.932, 0.959)

# What a node may draw without its network, watts: an H100 alone, and an eighth of a DGX H100. Not from the
# paper, and recalled; for the range in which the fitted power ought to be.
NODE_WATTS = (700.0, 1275.0)


@final
@dataclass(frozen=True, slots=True)
class Prices:
    """$ a lane of a switch or cable, $ a lane and end of an optical cable, and $ of a node without network.

    Neither paper prices copper. At 0 its cost is part of the fitted LRS price; give another to see what
    moves.
    """

    node: float = 0.0
    lrs_lane: float = 0.0
    hrs_lane: float = 694 / LANES_PER_PORT
    optical_end: float = 199 / LANES_PER_PORT
    passive_lane: float = 0.0
    active_lane: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Power:
    """Watts a lane of a switch, a lane and end of an optical cable, and of a node without network."""

    node: float = 0.0
    switch_lane: float = 18 / LANES_PER_PORT
    optical_end: float = 9 / LANES_PER_PORT


def network_cost(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """$ of switches and cables."""
    return (
        parts.lrs * pod.lrs_lanes * prices.lrs_lane
        + parts.hrs * pod.hrs_lanes * prices.hrs_lane
        + parts.passive_lanes * prices.passive_lane
        + parts.active_lanes * prices.active_lane
        + 2 * parts.optical_lanes * prices.optical_end
    )


def capex(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """$ of nodes and network."""
    return parts.npus * prices.node + network_cost(parts, prices, pod)


def network_share(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the network's share of the cost of nodes and network, 0 to 1."""
    return network_cost(parts, prices, pod) / capex(parts, prices, pod)


def network_watts(parts: Parts, power: Power, pod: SuperPod = SUPERPOD) -> float:
    """Watts of switches and optical modules; copper draws none."""
    lanes = parts.lrs * pod.lrs_lanes + parts.hrs * pod.hrs_lanes
    return lanes * power.switch_lane + 2 * parts.optical_lanes * power.optical_end


def fit_prices(
    pod: SuperPod = SUPERPOD,
    given: Prices | None = None,
    clos_share: float = CLOS_NETWORK_SHARE,
    ub_mesh_share: float = UB_MESH_NETWORK_SHARE,
) -> Prices:
    """Solve the prices of a node and of an LRS lane that give the network its two shares; others as `given`.

    RailyardError when the prices given leave nothing for LRS.
    """
    start = given or Prices()
    base, ours = clos(CLOS_LANES, pod), ub_mesh(pod)
    node = network_cost(base, start, pod) * (1 - clos_share) / clos_share / pod.npus
    network = node * pod.npus * ub_mesh_share / (1 - ub_mesh_share)
    without = Prices(node, 0.0, start.hrs_lane, start.optical_end, start.passive_lane, start.active_lane)
    left = network - network_cost(ours, without, pod)
    if left <= 0:
        raise RailyardError(
            f"prices: UB-Mesh's HRS, fibre and copper cost {-left:,.0f} $ more than a network share of "
            f"{ub_mesh_share:.0%} allows, and its LRS nothing",
            remedy="lower the price of copper, or raise that of an HRS lane",
        )
    lane = left / (ours.lrs * pod.lrs_lanes)
    return Prices(node, lane, start.hrs_lane, start.optical_end, start.passive_lane, start.active_lane)


def fit_node_power(pod: SuperPod = SUPERPOD, saved: float = OPEX_SAVED, power: Power | None = None) -> float:
    """Watts of a node at which UB-Mesh draws `saved` less than x64T Clos, network and nodes together."""
    watts = power or Power()
    base = network_watts(clos(CLOS_LANES, pod), watts, pod) / pod.npus
    ours = network_watts(ub_mesh(pod), watts, pod) / pod.npus
    return ((1 - saved) * base - ours) / saved


def power_saved(node: float, pod: SuperPod = SUPERPOD, power: Power | None = None) -> float:
    """Share of the power that UB-Mesh saves against x64T Clos, with nodes of `node` watts."""
    watts = power or Power()
    base, ours = clos(CLOS_LANES, pod), ub_mesh(pod)
    return 1 - (pod.npus * node + network_watts(ours, watts, pod)) / (
        pod.npus * node + network_watts(base, watts, pod)
    )


def cost_efficiency(
    performance: float,
    capex_ratio: float,
    opex_saved: float,
    opex_share: float = OPEX_SHARE,
    *,
    of_clos: bool = False,
) -> float:
    """Return performance per dollar of total cost on UB-Mesh over the Clos (UB-Mesh, equation 1).

    `opex_share` is OpEx's share of UB-Mesh's total cost, or with `of_clos` of the Clos's.
    """
    if of_clos:
        return performance / ((1 - opex_share) / capex_ratio + opex_share * (1 - opex_saved))
    return performance * ((1 - opex_share) * capex_ratio + opex_share / (1 - opex_saved))


def capex_ratio(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the cost of these parts and their nodes, relative to UB-Mesh."""
    return capex(parts, prices, pod) / capex(ub_mesh(pod), prices, pod)
