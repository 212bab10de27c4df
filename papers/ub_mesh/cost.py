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


@final
@dataclass(frozen=True, slots=True)
class Power:
    """Power in watts: a node without network, a lane of a switch, and an end of an optical lane."""

    node: float = 0.0
    switch_lane: float = 18 / LANES_PER_PORT
    optical_end: float = 9 / LANES_PER_PORT


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


def network_share(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the network's share of the cost of nodes and network, 0 to 1."""
    return network_cost(parts, prices, pod) / capex(parts, prices, pod)


def network_watts(parts: Parts, power: Power, pod: SuperPod = SUPERPOD) -> float:
    """Return the power of switches and optical modules in watts; copper draws none."""
    lanes = parts.lrs * pod.lrs_lanes + parts.hrs * pod.hrs_lanes
    return lanes * power.switch_lane + 2 * parts.optical_lanes * power.optical_end


def fit_prices(
    pod: SuperPod = SUPERPOD,
    given: Prices | None = None,
    clos_share: float = CLOS_NETWORK_SHARE,
    ub_mesh_share: float = UB_MESH_NETWORK_SHARE,
) -> Prices:
    """Return prices with which the network has a given share of the cost, in x64T Clos and in UB-Mesh.

    The prices of a node and of an LRS lane are computed; all other prices are given.

    Args:
        pod: sizes of the SuperPod.
        given: all other prices; None: the default prices.
        clos_share: the network's share of the cost of x64T Clos.
        ub_mesh_share: the network's share of the cost of UB-Mesh.

    Raises:
        RailyardError: The given prices leave nothing for LRS.
    """
    start = given or Prices()
    base, ours = clos(CLOS_LANES, pod), ub_mesh(pod)
    node = network_cost(base, start, pod) * (1 - clos_share) / clos_share / pod.npus
    network = node * pod.npus * ub_mesh_share / (1 - ub_mesh_share)
    without = Prices(node, 0.0, start.hrs_lane, start.optical_end, start.passive_lane, start.active_lane)
    left = network - network_cost(ours, without, pod)
    if left <= 0:
        raise RailyardError(
            f"UB-Mesh's HRS, fibre and copper leave no money for LRS: they cost {-left:,.0f} $ more than "
            f"{ub_mesh_share:.0%} of all",
            remedy="lower the price of copper, or raise that of an HRS lane, which x64T Clos has more of",
        )
    lane = left / (ours.lrs * pod.lrs_lanes)
    return Prices(node, lane, start.hrs_lane, start.optical_end, start.passive_lane, start.active_lane)


def fit_node_power(pod: SuperPod = SUPERPOD, saved: float = OPEX_SAVED, power: Power | None = None) -> float:
    """Return the watts of a node at which UB-Mesh saves the share `saved` of the power, nodes included."""
    watts = power or Power()
    base = network_watts(clos(CLOS_LANES, pod), watts, pod) / pod.npus
    ours = network_watts(ub_mesh(pod), watts, pod) / pod.npus
    return ((1 - saved) * base - ours) / saved


def power_saved(node: float, pod: SuperPod = SUPERPOD, power: Power | None = None) -> float:
    """Return the share of power saved by UB-Mesh against x64T Clos, with nodes of `node` watts."""
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
    """Return the performance per dollar of UB-Mesh divided by that of the Clos (UB-Mesh, equation 1).

    Args:
        performance: performance of UB-Mesh as a share of the Clos's.
        capex_ratio: CapEx of the Clos divided by that of UB-Mesh.
        opex_saved: share of the Clos's OpEx that UB-Mesh saves.
        opex_share: OpEx's share of the total cost.
        of_clos: `opex_share` is of the Clos's total cost instead of UB-Mesh's.
    """
    if of_clos:
        return performance / ((1 - opex_share) / capex_ratio + opex_share * (1 - opex_saved))
    return performance * ((1 - opex_share) * capex_ratio + opex_share / (1 - opex_saved))


def capex_ratio(parts: Parts, prices: Prices, pod: SuperPod = SUPERPOD) -> float:
    """Return the cost of these parts and their nodes, divided by that of UB-Mesh."""
    return capex(parts, prices, pod) / capex(ub_mesh(pod), prices, pod)
