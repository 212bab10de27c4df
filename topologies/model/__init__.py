# SPDX-License-Identifier: Apache-2.0
"""Data model of a network: fabrics, nodes, ports, links and address plans.

fabric    nodes with ports, links, optical switches
address   addresses and their bit fields
columns        nodes and hops of a fabric as arrays
computed_once  decorators that cache results of functions in the fabric
wiring    builder of a fabric from named nodes and links
cuts      rates between sets of endpoints; bisection
circuits  circuits of optical switches: pairs of ports, and their links
lines     nodes that differ in one coordinate
graphs    a fabric made from a networkx graph
port_numbers  port numbers at the ends of the graph's edges
checks    every inconsistency of a fabric
codec     fabrics to JSON and from JSON
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
