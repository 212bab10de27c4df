# SPDX-License-Identifier: Apache-2.0
"""Circuits between Pods, from a demand to what every optical switch is set to (LumosCore); all of it arrays.

P Pods have H spines each. Spine h of every Pod is in group h, where it has K ports, K even, to as many
optical switches in pairs: a circuit of pair k joins the even port of one Pod with the odd port of another.

    demand      what may be asked, and ports that are left over     C, (P, P), symmetric, row sums <= H K
    split       C = A + A.T: who has the even port
    parts       A over spines, evenly                               (H, P, P)
    pairs       one group's circuits over pairs of switches         maps, (K/2, P)
    realise     all of these, few standing circuits moved           -> plan: CircuitPlan
    places      new circuits one by one, by short chains of moves
    halving     a demand over spines and pairs by halves
    price       what a half costs                                   flow        a half as one min-cost flow
    entries     matrices by what is in them
    left        a demand on what is left when ports do not work
    spare       dark ports of a plan lit
    exact       the fewest moves, by integer program: a baseline
    uniform     the wiring that cross wiring is compared with
    leaf        demand between leaves, links to spines never overloaded
    physical    what the switches are set to; does every port hear whom it talks to?
"""

from controller.circuits.allocation import Method, allocate, allocate_by_spine
from controller.circuits.demand import check_demand, pod_demand, saturate_demand
from controller.circuits.even_split import even_split
from controller.circuits.exact import assign_exact
from controller.circuits.leaf import leaf_plan, leaf_spine_load, leaf_split, pod_centric_split
from controller.circuits.pairs import (
    DARK,
    Moves,
    assign_from_scratch,
    assign_greedy,
    assign_pairs,
    check_maps,
    count_moves,
)
from controller.circuits.physical import check_crossconnects, check_l2, crossconnects
from controller.circuits.plan import CircuitPlan
from controller.circuits.port_availability import allocate_available
from controller.circuits.split import symmetric_split
from controller.circuits.uniform import allocate_uniform, dual_link_maps
from controller.circuits.unused_ports import fill_unused_ports

__all__ = [
    "DARK",
    "CircuitPlan",
    "Method",
    "Moves",
    "assign_exact",
    "assign_from_scratch",
    "assign_greedy",
    "assign_pairs",
    "even_split",
    "check_crossconnects",
    "check_demand",
    "check_l2",
    "check_maps",
    "crossconnects",
    "dual_link_maps",
    "saturate_demand",
    "leaf_plan",
    "leaf_spine_load",
    "leaf_split",
    "fill_unused_ports",
    "count_moves",
    "pod_centric_split",
    "pod_demand",
    "allocate",
    "allocate_by_spine",
    "allocate_available",
    "allocate_uniform",
    "symmetric_split",
]
