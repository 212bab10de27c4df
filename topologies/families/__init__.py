# SPDX-License-Identifier: Apache-2.0
"""Families of fabrics: generators that take declared parameters and return a Fabric.

declaration    a generator's parameters: type, unit, range, default, text; conversion of rates and times
registry       families by name, including those of installed packages
full_mesh      n-dimensional full mesh
optical_rings  rings of circuits on a single optical switch
ecmp_clos      NPUs below two or three tiers of switches that choose by hash (ECMP)
clos           sizes of folded Clos networks: numbers of switches and cables
ub_mesh/       rack, Pod and SuperPod of UB-Mesh
rails/         GPUs in high-bandwidth domains, joined by the network of their NICs
lumos/         Pods joined by groups of optical switches
graphs/        Dragonfly, torus, HyperX, fat tree, Slim Fly, Jellyfish, BCube
hpn/           segments of hosts whose NICs have two ports, and the baseline DCN+
"""
