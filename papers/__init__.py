# SPDX-License-Identifier: Apache-2.0
"""Floor 5: what published papers claim, beside what this testbed measures or computes.

Knows every floor below; railyard knows it.

    claims       files of claims: form, reader, runner; the table of paper, ours, verdict
    checking     what the checks of several experiments share
    flow_level   jobs on one cluster, simulated flow by flow
    training     iteration times of a training job on any of these networks
    crux         job priority by GPU intensity
    hpn          dual-plane, dual-ToR
    lumoscore    optical circuits between Pods
    rail_only    rails without a spine against any-to-any Clos
    ub_mesh      nD-FullMesh: topology, routing, recovery, spares, cost, availability, training

A room is a module or a folder of this floor; it imports only itself and rooms before it.
Order of the rooms: claims, checking, flow_level, training, crux, hpn, lumoscore, rail_only, ub_mesh.
"""
