# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU, sans-IO.

agent         one rank of a collective: its frames, deadlines and outcome
slices        its slices: phases applied, sends released and sent, tasks opened
checks        what an agent is made from
iterations    a job that computes and sends repeatedly
transport     a reliable connection: sender and receiver
connections   the connections of a rank with its peers
paths/        the path of each frame: choice, health, losses and delay by path
reduction     rate, SRAM and memory traffic of what reduces: cores or the CCU
reducer       an agent's slices on it
gate          steps that do not overlap
tasks         progress of a graph's tasks: open, ended, due
native        the same agents in C++, for the embedded testbed
make          the agents of a collective, of either kind
stats         statistics and outcome of an agent
saturate      traffic that keeps a lossless fabric full
"""
