# SPDX-License-Identifier: Apache-2.0
"""Forwarding schemes: one class a way to forward, which the planner and recovery ask.

scheme      the contract: paths, shares, table entries, repair after a failure, dependence on links
strategy    routing strategies as values, with the properties that others ask for
reuse       parts of a previous plan that a new plan keeps
structured  base of the schemes for fabrics with dimensions or tiers
mesh        full meshes of NPUs that route, alone or below LRS and HRS (UB-Mesh)
clos        tiers of switches that choose among equal next hops by hash (HPN)
rails       leaves that join GPUs of one rank, PXN (Rail-only)
optical     Pods joined by optical circuits (LumosCore)
graph       any graph, by up*/down* routes
registry    which scheme serves a fabric; schemes that a user adds
"""
