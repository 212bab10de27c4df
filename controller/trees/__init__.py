# SPDX-License-Identifier: Apache-2.0
"""Trees of switches to combine the values of their leaves, for collectives in the network.

tree      a tree over members: parents, children and leaves of each node
laying    link-disjoint trees over a fabric, so that a member sends on all of its links
slots     allocation of the switches' aggregator cells to jobs
entries   table rows and multicast groups of a tree's switches
bounds    lower bound of the time of a collective over trees
"""
