# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime server in front of the engine: every switch of a network is one device of one gRPC server.

service        gRPC methods and the thread that runs them
outgoing       bounded queues of messages to controllers, and counts of lost messages
streams        StreamChannel: arbitration, packet-outs and acknowledgements in; packet-ins, notifications out
device         one switch: its committed and saved configurations, its roles, batches of writes
roles          permissions of a role
arbitration    election of the primary of one (device, role)
advisories     rate limit of the notifications of a new primary
reconcile      RECONCILE_AND_COMMIT: state that a new pipeline keeps
target         the state of one switch under one pipeline: reads, writes, inverses
entities/      reads and writes of each kind of entity
pipeline/      objects of a p4info resolved to handles of the compiled program
clock          real or virtual time for timeouts and timestamps
status         refused requests, and their gRPC status
"""

from emulation.p4runtime.service import P4RuntimeServer, Requests

__all__ = ["P4RuntimeServer", "Requests"]
