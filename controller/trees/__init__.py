# SPDX-License-Identifier: Apache-2.0
"""Trees of switches that combine the values of their leaves, for collectives in the network.

tree      a tree over members, and its places at each switch
laying    trees over a fabric that share no link, so that all links of a member work
slots     cells of switches, given to jobs and taken back
entries   rows and multicast groups by which switches know a tree
bounds    least time of a collective over trees
"""
