# SPDX-License-Identifier: Apache-2.0
"""Segments of addresses: prefixes and ternary matches with the next hops of their addresses, by kind of node.

segment         values: a prefix or ternary match with an array of next hops
prefixes        address prefixes below a node, and those that it reaches by climbing first
programs        tables that only some programs have
mesh            segments of a node's mesh
downward        segments below a switch
upward          segments upwards, and the default
withdrawn       routes that neighbours of a switch have withdrawn
rails           switches whose endpoints share a rank and no prefix
pxn             relaying to another rail by a neighbour's NIC
circuits        segments over a core of optical circuits
address_blocks  segments of the nodes of any graph
"""
