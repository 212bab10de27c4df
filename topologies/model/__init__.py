# SPDX-License-Identifier: Apache-2.0
"""Values that describe a network: fabrics, nodes, ports, links and address plans.

fabric    nodes with ports, links, optical switches
address   addresses cut into fields
columns        nodes and hops of a fabric as arrays
computed_once  functions whose results a fabric keeps
wiring    a fabric put together by the names of its nodes
cuts      rates between sets of endpoints, and between halves
circuits  circuits of optical switches: pairs of ports, and their links
lines     nodes that differ in one coordinate
graphs    a fabric made from a networkx graph; port_numbers: the ports of its edges
checks    every inconsistency of a fabric
codec     a fabric as JSON, and back
places    boards, racks, domains and planes of a fabric
components  connected components of nodes
distance  shortest paths of a fabric, counted in links
"""

from topologies.model.address import AddressField, AddressPlan
from topologies.model.fabric import HOST_PORT, End, Fabric, Link, Node, NodeKind, OpticalSwitch, Port

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
]
