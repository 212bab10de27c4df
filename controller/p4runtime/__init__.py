# SPDX-License-Identifier: Apache-2.0
"""P4Runtime client to write plans into switches; import it by its name, as it loads gRPC.

client          one client for every device of a fabric
device          one device: its stream, its calls, and errors that name the node
node_writes     batches of serialised updates for several nodes at once
update_cache    serialised updates, kept for further runs with the same plan
p4info          entries, counters and controller headers by the names of a p4info
entry_encoding  an entry as bytes of P4Runtime messages
row_encoding    rows of a table as bytes of P4Runtime messages, all rows at once
counter_cells   cells of counters as arrays, from the bytes of ReadResponses
field_encoding  match fields and parameters of a p4info; numbers of protocol buffers
replication     multicast groups as messages
entries_file    entries of a user's own program, from a file
local           calls between a client and a server of one process, without a socket
event_loop      asyncio event loop in a thread, shared by all clients of a process
"""
