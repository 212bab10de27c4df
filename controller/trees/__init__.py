# SPDX-License-Identifier: Apache-2.0
"""Trees of switches that combine the values of their leaves, for collectives in the network.

tree      a tree over members: parents, children and leaves of each node
laying    trees over a fabric that share no link, so that a member sends on all of its links
slots     allocation of the switches' aggregator cells to jobs
entries   table rows and multicast groups of a tree's switches
bounds    lower bound of the time of a collective over trees
"""
