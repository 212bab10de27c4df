# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU, sans-IO.

agent         one rank of a collective: schedule, transport, arrays
checks        what an agent is made from
iterations    a job that computes and sends repeatedly
transport     a reliable connection: sender and receiver
path_sender   a sender that finds losses by path
spray         the path of each frame, and the health of paths
path_delay    paths that stand out by their round trip are left
connections   the connections of a rank with its peers
path_choice   load-balance values of connections, and the choice among them
reduction     rate, SRAM and memory traffic of what reduces: cores or the CCU
reducer       an agent's slices on it
gate          steps that do not overlap
tasks         progress of a graph's tasks: open, ended, due
native        the same agents in C++, for the embedded testbed
make          the agents of a collective, of either kind
stats         statistics and outcome of an agent
saturate      traffic that keeps a lossless fabric full
"""
