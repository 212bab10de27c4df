# SPDX-License-Identifier: Apache-2.0
"""Schedules of collectives for full-mesh fabrics, and lower bounds of their times.

dimension_wise  AllReduce, reduce-scatter and all-gather along one dimension after the other, or direct
rings           AllReduce along one ring or several link-disjoint rings
mesh_rings      AllReduce along rings in all dimensions of a mesh at once, and along rings of idle links
split           shares of the array for several rings, balanced over the links
exchange        all-to-all, point to point
hierarchical    broadcast, reduce, dispatch, combine
in_switches     collectives that switches carry out
compose         several collectives in one schedule
cutting         arrays cut into parts, grids cut into lines
bounds          lower bounds of the times
declaration     interface of a kind of collective; catalogue: built-in kinds, registry: all kinds by name
"""

from emulation.traffic.collectives.bounds import (
    all_to_all_bound_ps,
    allreduce_bound_ps,
    allreduce_ports_bound_ps,
    busiest_pair_ps,
    gather_bound_ps,
    ring_bound_ps,
    send_bound_ps,
    traffic_bound_ps,
)
from emulation.traffic.collectives.compose import Placed, at_once, compose, in_sequence, on_groups
from emulation.traffic.collectives.cutting import lines
from emulation.traffic.collectives.dimension_wise import (
    balanced,
    bidirectional_dimension_order,
    dimension_wise,
    direct,
    in_order,
    load_of,
)
from emulation.traffic.collectives.exchange import all_to_all, direct_all_to_all, p2p, pipeline
from emulation.traffic.collectives.hierarchical import broadcast, combine, dispatch, experts, reduce, tree
from emulation.traffic.collectives.mesh_rings import (
    MeshRings,
    borrowing_rings,
    mesh_multi_ring,
    mesh_rings,
    split_over_rings,
)
from emulation.traffic.collectives.rings import (
    allreduce_ring,
    arcs_of,
    check_rings,
    mesh_ring,
    multi_ring,
    rings,
    walecki,
)
from emulation.traffic.collectives.split import RingSplit, balanced_rings

__all__ = [
    "MeshRings",
    "Placed",
    "RingSplit",
    "all_to_all",
    "all_to_all_bound_ps",
    "allreduce_bound_ps",
    "allreduce_ports_bound_ps",
    "allreduce_ring",
    "arcs_of",
    "at_once",
    "balanced",
    "balanced_rings",
    "bidirectional_dimension_order",
    "borrowing_rings",
    "broadcast",
    "busiest_pair_ps",
    "check_rings",
    "combine",
    "compose",
    "dimension_wise",
    "direct",
    "direct_all_to_all",
    "dispatch",
    "experts",
    "gather_bound_ps",
    "in_order",
    "in_sequence",
    "lines",
    "load_of",
    "mesh_multi_ring",
    "mesh_ring",
    "mesh_rings",
    "multi_ring",
    "on_groups",
    "p2p",
    "pipeline",
    "reduce",
    "ring_bound_ps",
    "rings",
    "send_bound_ps",
    "split_over_rings",
    "traffic_bound_ps",
    "tree",
    "walecki",
]
