# SPDX-License-Identifier: Apache-2.0
"""Traffic of NPUs, sans-IO: frames, collectives, traffic graphs, and the agents that carry these out.

frames/        every header as a Scapy layer, the bytes of agents' headers, a Wireshark dissector
schedule/      a collective as a DAG of transfers: its goals, its proof, its slices, its data
collectives/   schedules of every kind of collective, and lower bounds of their times
graph/         any traffic as a graph of sends, computations and copies, lowered to slices and tasks
host/          the agent of an NPU: its description, and the C++ agent that both testbeds make from it
tree/          collectives that switches carry out: their frames, blocks and members
memory/        load, store, atomics and messages; memory that nodes lend to each other
"""
