# SPDX-License-Identifier: Apache-2.0
"""Families that are routed as graphs, one a file, by the door that is open to anybody: networkx and `family`.

parameters   parameters that several of them share, and hosts behind switches
dragonfly    groups of routers, a link between every two groups
dragonfly_plus   groups of leaves below spines, which global links join
torus        torus and mesh of any dimensions
hyperx       switches that are neighbours where they differ in a single coordinate
fat_tree     fat tree of switches with k ports
slim_fly     graphs of diameter 2 by McKay, Miller and Siran
jellyfish    random regular graph of switches
bcube        servers on switches of several levels, which pass on each other's frames
"""
