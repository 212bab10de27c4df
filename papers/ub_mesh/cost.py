# SPDX-License-Identifier: Apache-2.0
"""CapEx, OpEx and cost-efficiency (UB-Mesh, §6.4, Fig. 21 and equation 1).

The paper publishes ratios but no prices.

- From Rail-only (arXiv 2307.12169): 694 $ and 18 W a switch port, 199 $ and 9 W an optical module. Assumed: a
  port has four lanes, and a module serves one port.
- Fitted: the price of a node without network, and the price of an LRS lane. With these prices the network
  makes 67 % of the cost of x64T Clos and 20 % of the cost of UB-Mesh, as in the paper.
- Fitted to the 35 % of OpEx saved: the power of a node.
- Predicted from these: the cost of the other networks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import mean
from typing import final

from papers.claims import Measured, Values
from papers.ub_mesh.networks import CLOS_LANES, Parts, clos, one_d_a, two_d_clos, ub_mesh
from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError

__all__ = [
    "Prices",
    "capex",
    "capex_ratio",
    "cost_efficiency",
    "figures",
    "fit_node_power",
    "fit_prices",
    "network_cost",
    "network_share",
    "network_watts",
    "power_saved",
]

LANES_PER_PORT = 4

# Watts of a lane of a switch, and of an end of an optical lane (Rail-only).
SWITCH_LANE_WATTS, OPTICAL_END_WATTS = 18 / LANES_PER_PORT, 9 / LANES_PER_PORT

# UB-Mesh, §6.4.
CLOS_NETWORK_SHARE = 0.67
UB_MESH_NETWORK_SHARE = 0.20
OPEX_SAVED = 0.35
OPEX_SHARE = 0.30
CLOS_CAPEX_RATIO = 2.46

# Smallest and largest training performance of UB-Mesh, as a share of the Clos's (UB-Mesh, §6.2, Fig. 17).
PERFORMANCE = (0.932, 0.959)

# Plausible range of the fitted power of a node without network, watts: an H100 alone, and an eighth of a DGX
# H100. The values are recalled, not from the paper.
NODE_WATTS = (700.0, 1275.0)


@final
@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in $: a node without network, a lane of a switch or cable, and an end of an optical lane.

    Neither paper prices copper. With a price of 0, the fitted LRS price includes the cost of copper; another
    price shows the sensitivity of the results.
    """

    node: float = 0.0
    lrs_lane: float = 0.0
    hrs_lane: float = 694 / LANES_PER_PORT
    optical_end: float = 199 / LANES_PER_PORT
    passive_lane: float = 0.0
    active_lane: float = 0.0


def network_cost(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the cost of switches and cables in $."""
    return (
        parts.lrs * pod.lrs_lanes * prices.lrs_lane
        + parts.hrs * pod.hrs_lanes * prices.hrs_lane
        + parts.passive_lanes * prices.passive_lane
        + parts.active_lanes * prices.active_lane
        + 2 * parts.optical_lanes * prices.optical_end
    )


def capex(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the cost of nodes and network in $."""
    return parts.npus * prices.node + network_cost(parts, prices, pod)


def network_share(parts: Parts, prices: Prices) -> float:
    """Return the network's share of the cost of nodes and network, 0 to 1."""
    return network_cost(parts, prices) / capex(parts, prices)


def network_watts(parts: Parts) -> float:
    """Return the power of switches and optical modules in watts; copper draws none."""
    lanes = parts.lrs * SUPERPOD.lrs_lanes + parts.hrs * SUPERPOD.hrs_lanes
    return lanes * SWITCH_LANE_WATTS + 2 * parts.optical_lanes * OPTICAL_END_WATTS


def fit_prices(
    pod: SuperPod = SUPERPOD,
    given: Prices | None = None,
    clos_share: float = CLOS_NETWORK_SHARE,
    ub_mesh_share: float = UB_MESH_NETWORK_SHARE,
) -> Prices:
    """Return prices with which the network has given shares of the cost of x64T Clos and of UB-Mesh.

    The prices of a node and of an LRS lane are computed; all other prices are given, the defaults if None.

    Raises:
        RailyardError: The given prices leave nothing for LRS.
    """
    start = given or Prices()
    base, ours = clos(CLOS_LANES, pod), ub_mesh(pod)
    node = network_cost(base, start, pod) * (1 - clos_share) / clos_share / pod.npus
    network = node * pod.npus * ub_mesh_share / (1 - ub_mesh_share)
    left = network - network_cost(ours, replace(start, lrs_lane=0.0), pod)
    if left <= 0:
        raise RailyardError(
            f"UB-Mesh's HRS, fibre and copper leave no money for LRS: they cost {-left:,.0f} $ more than "
            f"{ub_mesh_share:.0%} of all",
            remedy="lower the price of copper, or raise that of an HRS lane, which x64T Clos has more of",
        )
    return replace(start, node=node, lrs_lane=left / (ours.lrs * pod.lrs_lanes))


def _watts_a_node() -> tuple[float, float]:
    """Return the watts of the network for each node, of x64T Clos and of UB-Mesh."""
    base, ours = (network_watts(parts) / SUPERPOD.npus for parts in (clos(CLOS_LANES), ub_mesh()))
    return base, ours


def fit_node_power(saved: float = OPEX_SAVED) -> float:
    """Return the watts of a node at which UB-Mesh saves the share `saved` of the power, nodes included."""
    base, ours = _watts_a_node()
    return ((1 - saved) * base - ours) / saved


def power_saved(node: float) -> float:
    """Return the share of power saved by UB-Mesh against x64T Clos, with nodes of `node` watts."""
    base, ours = _watts_a_node()
    return 1 - (node + ours) / (node + base)


def cost_efficiency(
    performance: float, capex_ratio: float, opex_saved: float, *, of_clos: bool = False
) -> float:
    """Return the performance per dollar of UB-Mesh divided by that of the Clos (UB-Mesh, equation 1).

    Args:
        performance: performance of UB-Mesh as a share of the Clos's.
        capex_ratio: CapEx of the Clos divided by that of UB-Mesh.
        opex_saved: share of the Clos's OpEx that UB-Mesh saves.
        of_clos: OPEX_SHARE is of the Clos's total cost instead of UB-Mesh's.
    """
    if of_clos:
        return performance / ((1 - OPEX_SHARE) / capex_ratio + OPEX_SHARE * (1 - opex_saved))
    return performance * ((1 - OPEX_SHARE) * capex_ratio + OPEX_SHARE / (1 - opex_saved))


def capex_ratio(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the cost of these parts and their nodes, divided by that of UB-Mesh."""
    return capex(parts, prices, pod) / capex(ub_mesh(pod), prices, pod)


def figures(
    clos_share: float = CLOS_NETWORK_SHARE,
    ub_mesh_share: float = UB_MESH_NETWORK_SHARE,
    stages: int = 1,
    opex_saved: float = OPEX_SAVED,
    clos_capex: float = CLOS_CAPEX_RATIO,
) -> Values:
    """Return the networks' shares of the cost, CapEx ratios, the OpEx saved, and the cost-efficiency.

    The first two arguments are those of `fit_prices`, and `opex_saved` is that of `fit_node_power`.

    Args:
        stages: stages of HRS above the racks of 2D-FM.
        clos_capex: CapEx of the Clos divided by UB-Mesh's, for the cost-efficiency.
    """
    prices = fit_prices(clos_share=clos_share, ub_mesh_share=ub_mesh_share)
    solved = f"a node {prices.node:,.0f} $, an LRS lane {prices.lrs_lane:.0f} $"
    copper = fit_prices(SUPERPOD, Prices(passive_lane=10, active_lane=30), clos_share, ub_mesh_share)
    with_copper = f"{capex_ratio(two_d_clos(), copper):.2f}x with copper at 10 and 30 $ a lane"
    node = fit_node_power(opex_saved)
    high, low = (100 * power_saved(watts) for watts in NODE_WATTS)
    words = f"a node of {node:,.0f} W; nodes of 700 to 1,275 W would save {high:.0f} to {low:.0f} %"
    return {
        "share-clos": Measured(100 * network_share(clos(), prices), detail=solved),
        "share-ub-mesh": Measured(100 * network_share(ub_mesh(), prices), detail=solved),
        "capex-2d": Measured(capex_ratio(two_d_clos(stages=stages), prices), detail=with_copper),
        "capex-1d-a": capex_ratio(one_d_a(), prices),
        "capex-clos": capex_ratio(clos(), prices),
        "opex": Measured(100 * power_saved(node), detail=words),
        "efficiency": cost_efficiency(mean(PERFORMANCE), clos_capex, OPEX_SAVED),
    }
