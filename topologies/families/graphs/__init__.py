# SPDX-License-Identifier: Apache-2.0
"""Families routed as graphs, one in each file, written as a user would: networkx and `family`.

parameters   parameters that several families share, and hosts behind switches
dragonfly    groups of routers, global links between every two groups
dragonfly_plus   groups of leaves below spines, global links between spines
torus        torus and mesh of any dimensions
hyperx       switches that are neighbours where they differ in a single coordinate
fat_tree     fat tree of switches with k ports
slim_fly     graphs of diameter 2 (McKay, Miller and Siran)
jellyfish    random regular graph of switches
bcube        servers on switches of several levels; servers relay frames
"""
