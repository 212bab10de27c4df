# SPDX-License-Identifier: Apache-2.0
"""Table entries of each P4 program, made from routes and addresses.

node_entries  all entries of one node: which function makes the rows of which table
pipeline      executable specification of the P4 programs: lookups, hash, decisions of one pass
next_hop      next hops and paths of frames, read from entries by the pipeline
ecmp          next hops of switches that choose by hash, for one destination and without entries
linear        segments of structured addresses: in a mesh, below a switch, upwards
prefixes      address prefixes below a node, and those that it reaches by climbing first
segment       values: a prefix or ternary match with the next hops of its addresses
graph         blocks of addresses, arrays and source routes of the nodes of any graph
multipath     groups of equal next hops, and the bits of the hash that select a member
rails         switches whose endpoints share a rank and no prefix
pxn           relaying to another rail by a neighbour's NIC
congestion    depths of queues from which frames are marked
"""
