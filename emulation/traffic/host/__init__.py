# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU: its description, the C++ agent made from the description, and its outcome.

path_choice   load-balance values of connections, and the shares of paths
transport     parameters of connections
congestion    congestion control by name, and the interface of an algorithm in Python
connections   connections of a rank with its peers
iterations    profile, reports and inputs of a job that computes and sends repeatedly
reduction     capacity and counts of an NPU's reducer: its cores, or a co-processor
rank_cache    the engine's descriptions of ranks, reused by later agents
spec          description of an agent
checks        checks of a description against limits
participant   interface of an agent, sans-IO
stats         statistics and outcome of an agent
agents        agents in C++, made from descriptions
concurrent    agents of one NPU in several collectives at once
saturate      traffic that keeps a lossless fabric full
"""
