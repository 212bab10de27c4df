# SPDX-License-Identifier: Apache-2.0
"""Floor 1: what a network is made of, as frozen values.

Knows nobody; controller, emulation and lab know it.

Values: a `Fabric` is `Node`s with numbered `Port`s and `Link`s between `End`s, `OpticalSwitch`es that make
links between their ends, plus the `AddressPlan` by which the nodes got their addresses. Rates are bits per
second, times integer picoseconds.

    model      the values                        address    addresses cut into fields
    full_mesh  n-dimensional full mesh           ub_mesh    the UB-Mesh rack
    optical    circuits of optical switches
    checks     every problem of a fabric         codec      a fabric as JSON, and back
    catalog    generators by name                errors     the root of the error tree
"""

from topologies.address import AddressField, AddressPlan
from topologies.errors import RailyardError, TopologyError
from topologies.full_mesh import full_mesh
from topologies.model import HOST_PORT, End, Fabric, Link, Node, NodeKind, OpticalSwitch, Port
from topologies.optical import optical_rings, with_circuits
from topologies.ub_mesh import ub_rack

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
    "full_mesh",
    "optical_rings",
    "ub_rack",
    "with_circuits",
]
