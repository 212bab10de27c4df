# SPDX-License-Identifier: Apache-2.0
"""Table entries of each P4 program, made from routes and addresses.

node_entries  all entries of one node: which function makes the rows of which table
linear        segments of structured addresses: in a mesh, below a switch, upwards; lookup in them
prefixes      address prefixes below a node, and those that it reaches by climbing first
segment       values: a prefix or ternary match with the next hops of its addresses
multipath     groups of equal next hops, and the member that a frame's hash selects
rails         switches whose endpoints share a rank and no prefix
pxn           relaying to another rail by a neighbour's NIC
"""
