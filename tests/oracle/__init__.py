# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU in Python, sans-IO: the specification of the agent in C++ (emulation/engine/hosts).

Both are made from an `AgentSpec`, or a `MemberSpec` where switches combine. For the same frames at the same
times both send the same frames and end with the same arrays and statistics; tests compare them.

make            agents from their descriptions; an embedded testbed with agents of the oracle
agent           one rank of a collective: its frames, deadlines and outcome
slices          its slices: phases applied, sends released and sent, tasks opened
repeating       a rank of a training job, which computes and sends repeatedly
codec           its frames, written and read as bytes
transport       a reliable connection: sender and receiver
connections     the connections of a rank with its peers
congestion/     congestion control, an algorithm a file
paths/          the path of each frame: health, losses and delay by path
reduction       rate, SRAM and memory traffic of the unit that reduces
reducer         an agent's slices on it
barrier         steps that do not overlap
tasks           progress of a graph's tasks: open, ended, due
tree_member     a member of a collective in switches
scaled_numbers  float32 numbers of a sum in switches, as integers
slot_machine    a switch of a tree that combines values (p4/control/reduce)
saturator       traffic that keeps a lossless fabric full
"""
