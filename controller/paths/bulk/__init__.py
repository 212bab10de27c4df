# SPDX-License-Identifier: Apache-2.0
"""Search for the paths of all pairs (source, destination) at once, in arrays.

working_hops   hops over working links, and the admitted turns between them
node_sets      a set of numbers for each node, such as the switches above the node
mesh_paths     paths of up to two hops between endpoints of one mesh
switch_cores   paths by switches alone between sets of switches, searched for many sets together
component_numbers  connected components of nodes by number
candidates     candidate paths of all pairs of a plan
"""
