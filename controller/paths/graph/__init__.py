# SPDX-License-Identifier: Apache-2.0
"""Paths of any graph of nodes and links, free of deadlock with the lanes of a class.

Every node has a rank; a hop goes up when it leads to a node of higher rank, else down. The turn rules count
valleys, an up hop directly after a down hop, and a frame moves to the next virtual lane at each valley. With
one lane these are the routes of up*/down* routing, which join all nodes of a connected graph. With two lanes
every path of up to three hops is admitted: it has one valley at most.

admitted     paths that the rules admit, by a search over (node, direction of the last hop, lane)
path_sets    equal-cost, k-shortest, edge-disjoint paths, and paths within a stretch
next_hops    next hop of every node to a destination, for the tables
virtual_lanes  lanes that routes use, beside those of an assignment by layers of shortest paths
"""
