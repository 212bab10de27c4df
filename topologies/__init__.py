# SPDX-License-Identifier: Apache-2.0
"""Floor 1: fabrics as frozen values. Imports no other floor.

A `Fabric` holds `Node`s with numbered `Port`s, `Link`s between `End`s of nodes, `OpticalSwitch`es whose
circuits are links, and the `AddressPlan` of the nodes' addresses. Rates are bits per second, times integer
picoseconds.

    errors      root of the error tree
    plugins/    values that a user adds: names in Python files, entry points of installed packages
    model/      fabrics, nodes, ports, links, addresses; checks, JSON, racks and distances of a fabric
    layout/     positions of nodes and curves of links in drawings
    transform/  fabrics derived from a fabric: other circuits, lanes or cables, spares in use
    families/   generators of fabrics by name, with declared parameters
    sources/    fabrics from files and from functions of a user's Python file

A room is a module or a folder of this floor; it imports only itself and rooms before it.
Order of the rooms: errors, plugins, model, layout, transform, families, sources.
"""

from topologies.errors import RailyardError, TopologyError
from topologies.families.ecmp_clos import ecmp_clos
from topologies.families.full_mesh import full_mesh
from topologies.families.graphs.bcube import bcube
from topologies.families.graphs.dragonfly import dragonfly
from topologies.families.graphs.dragonfly_plus import dragonfly_plus
from topologies.families.graphs.fat_tree import fat_tree
from topologies.families.graphs.hyperx import hyperx
from topologies.families.graphs.jellyfish import jellyfish
from topologies.families.graphs.slim_fly import slim_fly
from topologies.families.graphs.torus import torus
from topologies.families.hpn.fabrics import dcn_plus, hpn
from topologies.families.lumos.fabric import lumos
from topologies.families.optical_rings import optical_rings
from topologies.families.rails.fabrics import any_to_any, rail_only, rail_optimised
from topologies.families.ub_mesh.fabrics import ub_pod, ub_pod_clos, ub_rack, ub_rack_lrs, ub_superpod
from topologies.families.ub_mesh.racks import ub_rack_1dfm_a, ub_rack_1dfm_b, ub_rack_clos
from topologies.model import (
    HOST_PORT,
    AddressField,
    AddressPlan,
    End,
    Fabric,
    Link,
    Node,
    NodeKind,
    OpticalSwitch,
    Port,
)
from topologies.model.graphs import from_graph
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
    "bcube",
    "dcn_plus",
    "dragonfly",
    "dragonfly_plus",
    "ecmp_clos",
    "fat_tree",
    "from_graph",
    "full_mesh",
    "hpn",
    "hyperx",
    "jellyfish",
    "lumos",
    "optical_rings",
    "rail_only",
    "rail_optimised",
    "slim_fly",
    "torus",
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
