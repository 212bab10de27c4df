# SPDX-License-Identifier: Apache-2.0
"""Floor 5: what published papers claim, beside what this testbed measures or computes.

Knows every floor below; railyard knows it.

    claims       the table of claims: paper, ours, verdict
    ub_mesh      nD-FullMesh: topology, routing, recovery, spares, cost, availability, training
    rail_only    rails without a spine against any-to-any Clos
    lumoscore    optical circuits between Pods
    hpn          dual-plane, dual-ToR
    crux         job priority by GPU intensity
    training     iteration times of a training job on any of these networks
    flow_level   jobs on one cluster, simulated flow by flow
"""
