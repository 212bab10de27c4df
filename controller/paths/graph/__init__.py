# SPDX-License-Identifier: Apache-2.0
"""Paths of any graph of nodes and links, free of deadlock on the virtual lanes of a traffic class.

Every node has a rank; a hop goes up when it leads to a node of higher rank, else down. An up hop directly
after a down hop is a valley, and a frame moves to the next virtual lane at each valley. With one lane the
admitted paths are the routes of up*/down* routing, which join all nodes of a connected graph. With two lanes
every path of up to three hops is admitted, as it has one valley at most.

admitted     paths that the rules admit, by a search over (node, direction of the last hop, lane)
path_sets    equal-cost, k-shortest and edge-disjoint paths, and paths within a stretch
next_hops    next hop of every node to a destination, for tables
virtual_lanes  number of lanes that routes use, and number of layers if each path keeps one lane
"""
