# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables of the P4 programs, made from segments of addresses, routes and turn rules.

actions          actions of the P4 programs, each declared once
segment          values: a prefix or ternary match with the next hops of its addresses
prefixes         address prefixes below a node, and those that it reaches by climbing first
mesh             segments of a node's mesh
downward         segments below a switch
upward           segments upwards, and the default
withdrawn        routes that neighbours of a switch have withdrawn
rails            switches whose endpoints share a rank and no prefix
pxn              relaying to another rail by a neighbour's NIC
circuits         segments over a core of optical circuits
address_blocks   segments of the nodes of any graph
groups           groups of equal next hops, and the bits of the hash that select a member
programs         tables that only some programs have
address_entries  entries of the tables that map addresses to egress ports
source_routes    entries of the table all_path
turns            entries of the tables arrival, departure and vl_turn
congestion       depths of queues from which frames are marked
"""
