# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime server in front of the engine: every switch of a network is one device of one gRPC server.

service       gRPC: the methods, the streams, the thread they run in
device        one switch: its configuration (committed, saved), and who controls it
target        reads and writes of one switch under one pipeline
arbitration   who is primary
pipeline      a p4info checked against the program it describes
layout        tables and actions resolved for decoding: ids to positions and handles
packet_io     packet-in and packet-out metadata to header bits and back
status        refusals, and how they travel in gRPC
"""

from emulation.p4runtime.service import P4RuntimeServer

__all__ = ["P4RuntimeServer"]
