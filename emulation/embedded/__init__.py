# SPDX-License-Identifier: Apache-2.0
"""Testbed 1: every switch in this process, in virtual time.

testbed    EmbeddedTestbed: its start and stop, hosts, time, the P4Runtime server
links      links and circuits in the engine: state, impairments, captures, usage
host_ports     frames into and out of host ports; frame_service: the same by gRPC, beside P4Runtime
taps       TAP devices at host ports
"""
