# SPDX-License-Identifier: Apache-2.0
"""Floor 3: makes a Fabric real. A Plan goes in over P4Runtime; frames, processes and time live here only.

Knows topologies and controller; lab knows it.

    testbed            what every testbed does
    embedded           every switch in this process, in virtual time
    mininet            namespaces and processes, in real time
    circuits           optical circuit switches on either
    control_loop       the node controllers, driven from port events, hellos and notices, which are frames
    takeover           spares in the places of what failed
    bonding            LACP between NICs and ToRs, whose frames are lacp_frames
    faults             what breaks, in one vocabulary; what it strikes is found by targets
    fidelity           whether to believe the times of a run in real time
    p4runtime          one gRPC server in front of the switches
    switchd            the engine as a process on Linux interfaces, in real time
    namespace          network namespaces that are gone with who is in them
    traffic            what runs on the NPUs: frames, transport, collectives
    engine             v1model switches, links, Linux interfaces, in C++; `_engine` is its Python face
"""
