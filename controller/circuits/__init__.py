# SPDX-License-Identifier: Apache-2.0
"""Allocate optical circuits between Pods: from a demand to the cross-connects of each OCS (LumosCore).

P Pods have H spines each; spine h of every Pod belongs to group h. A spine has one port to each of the
K optical switches of its group; K is even. The switches work in pairs: a circuit of pair k joins the even
port of a Pod's spine to the odd port of another Pod's spine. In an array of maps, `maps[k, i] = j` is a
circuit of pair k from the even port of Pod i to the odd port of Pod j. A circuit of the previous plan is a
standing circuit.

    demand             checks of a demand; trimming or filling to the Pods' ports    C, (P, P), symmetric
    split              C = A + A.T: choice of the Pod that uses its even port        A, (P, P)
    bisection          recursive bisection of A over spines and pairs; even split    (H, P, P)
    pairs              circuits of one group over pairs of switches                  maps, (K/2, P)
    allocation         all steps above, with few standing circuits moved             -> CircuitPlan
    places             placement of new circuits one by one, by short chains of moves
    flow               min-cost flow for bisection and split; cost of a reconfiguration
    entries            sparse matrices of circuits
    plan               CircuitPlan: the circuits of every group, and counts of moves
    port_availability  allocation to the ports that work; unused ports filled
    baselines/         integer program that moves the fewest circuits; uniform wiring
    leaf               spread of a demand between leaves that overloads no link to a spine
    physical           cross-connects of the switches, and a check that both ends agree
    transition         cross-connects for the jobs' demand, and the plans of a hitless change
"""

from controller.circuits.allocation import Method, allocate, allocate_by_spine
from controller.circuits.baselines.exact import assign_exact
from controller.circuits.baselines.uniform import allocate_uniform
from controller.circuits.bisection import even_split
from controller.circuits.demand import check_demand, pod_demand, saturate_demand
from controller.circuits.leaf import leaf_plan, leaf_spine_load, leaf_split, pod_centric_split
from controller.circuits.pairs import assign_greedy, assign_pairs
from controller.circuits.physical import check_crossconnects, check_l2, crossconnects
from controller.circuits.plan import DARK, CircuitPlan, Moves, check_maps, count_moves
from controller.circuits.port_availability import allocate_available, fill_unused_ports
from controller.circuits.split import symmetric_split

__all__ = [
    "DARK",
    "CircuitPlan",
    "Method",
    "Moves",
    "allocate",
    "allocate_available",
    "allocate_by_spine",
    "allocate_uniform",
    "assign_exact",
    "assign_greedy",
    "assign_pairs",
    "check_crossconnects",
    "check_demand",
    "check_l2",
    "check_maps",
    "count_moves",
    "crossconnects",
    "even_split",
    "fill_unused_ports",
    "leaf_plan",
    "leaf_spine_load",
    "leaf_split",
    "pod_centric_split",
    "pod_demand",
    "saturate_demand",
    "symmetric_split",
]
