# SPDX-License-Identifier: Apache-2.0
"""Testbed 1: every switch in this process, in virtual time.

testbed    EmbeddedTestbed: its start and stop, faults, the P4Runtime server
agents     agents at host ports: attached, replaced, and their outcomes
virtual_time  time that passes with the events of the network, and stops for control
partitions parts of the fabric that threads run in parallel
queues     queue limits of lossy links, and priority flow control
links      links and circuits in the engine: state, impairments, captures, usage
host_ports     frames into and out of host ports; frame_service: the same by gRPC, beside P4Runtime
taps       TAP devices at host ports
"""
