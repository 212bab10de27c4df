# SPDX-License-Identifier: Apache-2.0
"""Floor 1: what a network is made of, as frozen values.

Knows nobody; controller, emulation and lab know it.

Values: a `Fabric` is `Node`s with numbered `Port`s and `Link`s between `End`s, `OpticalSwitch`es that make
links between their ends, plus the `AddressPlan` by which the nodes got their addresses. Rates are bits per
second, times integer picoseconds.

    model      the values                        address    addresses cut into fields
    full_mesh  n-dimensional full mesh           ub_mesh    UB-Mesh: rack, Pod, SuperPod
    rail       GPUs and rails, by parts of rail_parts    clos    folded Clos networks as numbers
    optical    circuits of optical switches      wiring     nodes and links put together by name
    hpn        two ToRs a NIC and a plane for either, and DCN+
    lumos      Pods joined by groups of optical switches, whose wiring is lumos_core
    dcn        what joins SuperPods, as numbers  places     boards, racks, domains, planes of switches
    distance   how far nodes are apart           spare      spares, and the fabric in which some serve
    remedies   which of them for what is lost
    checks     every problem of a fabric         codec      a fabric as JSON, and back
    catalog    generators by name                errors     the root of the error tree
"""

from topologies.errors import RailyardError, TopologyError
from topologies.families.full_mesh import full_mesh
from topologies.families.hpn import dcn_plus, hpn
from topologies.families.lumos import lumos
from topologies.families.optical_rings import optical_rings
from topologies.families.rails import any_to_any, rail_only, rail_optimised
from topologies.families.ub_mesh import ub_pod, ub_pod_clos, ub_rack, ub_rack_lrs, ub_superpod
from topologies.families.ub_mesh_racks import ub_rack_1dfm_a, ub_rack_1dfm_b, ub_rack_clos
from topologies.model.address import AddressField, AddressPlan
from topologies.model.fabric import HOST_PORT, End, Fabric, Link, Node, NodeKind, OpticalSwitch, Port
from topologies.transform.circuits import with_circuits

__all__ = [
    "HOST_PORT",
    "AddressField",
    "AddressPlan",
    "End",
    "Fabric",
    "Link",
    "Node",
    "NodeKind",
    "OpticalSwitch",
    "Port",
    "RailyardError",
    "TopologyError",
    "any_to_any",
    "dcn_plus",
    "full_mesh",
    "hpn",
    "lumos",
    "optical_rings",
    "rail_only",
    "rail_optimised",
    "ub_pod",
    "ub_pod_clos",
    "ub_rack",
    "ub_rack_1dfm_a",
    "ub_rack_1dfm_b",
    "ub_rack_clos",
    "ub_rack_lrs",
    "ub_superpod",
    "with_circuits",
]
