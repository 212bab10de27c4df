# SPDX-License-Identifier: Apache-2.0
"""P4Runtime client that writes plans into switches; loads gRPC, so it is imported by its name.

client          one client for every device of a fabric
device          one device: its stream, its calls, and errors that name the node
node_writes     updates of all nodes whose tables are filled or changed at once, in batches
update_cache    updates that are kept for the next run with the same plan
p4info          entries, counters and controller headers by the names of a p4info
entry_encoding  an entry as bytes of P4Runtime messages
row_encoding    rows of columns as such bytes, all rows at once
counter_cells   cells of counters as columns, from the bytes of ReadResponses
field_encoding  match fields and parameters as such bytes
replication     multicast groups as messages
entries_file    entries of a user's own program, from a file
local           client and server of one process, without a socket
event_loop      asyncio event loop in a thread, shared by all clients of a process
"""
