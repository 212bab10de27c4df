# SPDX-License-Identifier: Apache-2.0
"""Forwarding schemes: each class decides the paths and table entries of one kind of fabric.

scheme      the contract: paths, shares, table entries, repair after a failure, dependence on links
strategy    routing strategies and their properties
reuse       parts of a previous plan that a new plan keeps
shares      path of each bucket of each pair (source, destination), and weights of buckets
structured  base class of the schemes for fabrics with dimensions or tiers
mesh        full meshes of NPUs that forward frames, alone or below LRS and HRS (UB-Mesh)
clos        tiers of switches that choose among equal next hops by hash (HPN)
rails       leaves that join GPUs of equal rank, and PXN (Rail-only)
optical     Pods joined by optical circuits (LumosCore)
graph       any graph, by up*/down* routes
registry    default scheme of a fabric, and schemes that a user adds
"""
