# SPDX-License-Identifier: Apache-2.0
"""Segments of addresses: prefixes and ternary matches with the next hops of their addresses, by kind of node.

segment         types: a prefix or a ternary match, with an array of next hops
prefixes        address prefixes below a node, and prefixes that a frame reaches from it by climbing first
programs        tables that only some programs have
mesh            segments of a node's mesh
downward        segments below a switch
upward          segments upwards, and the default
withdrawn       routes withdrawn by neighbours of a switch
rails           switches whose endpoints have the same rank and no common prefix
pxn             PXN: another GPU of the domain relays frames to its rail
circuits        segments over a core of optical circuits
address_blocks  segments of a node of any graph
"""
