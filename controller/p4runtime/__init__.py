# SPDX-License-Identifier: Apache-2.0
"""P4Runtime client that writes plans into switches; loads gRPC, so it is imported by its name.

client      one client for every device of a fabric
device      one device: its stream, its calls, and errors that name the node
p4info      table entries as P4Runtime messages, by the names of a p4info
event_loop  asyncio event loop in a thread, shared by all clients of a process
"""
