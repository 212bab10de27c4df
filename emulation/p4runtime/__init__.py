# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime server in front of the engine: every switch of a network is one device of one gRPC server.

service           gRPC: the methods, and the thread they run in
streams           StreamChannel: arbitration, packet-outs, acknowledgements in; notifications out
device            one switch: its configurations (committed, saved), its roles, batches of writes
├── roles         what a role may do; arbitration: who is its primary
└── reconcile     what a new pipeline keeps of a state
target            the state of a switch under one pipeline
├── tables        entries and default entries; entries: what one may be; direct: counters and meters on them
├── profiles      members, groups, action sets
├── arrays        counters, meters and registers with an index; meters: how a meter is configured
├── replication   multicast groups and clone sessions
├── value_sets    of parsers
└── digests       lists and their acknowledgements; clock: the time they run in
pipeline          a p4info and the program it describes; device_config: the program in a configuration
├── resolver      finds each name of the one in the other
├── layout        ids to handles; match: the fields of a key
├── packet_io     packet metadata as a header
└── values        P4Data; bytestrings: numbers
status            refusals, and how they travel in gRPC
"""

from emulation.p4runtime.service import P4RuntimeServer

__all__ = ["P4RuntimeServer"]
