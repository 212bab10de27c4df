# SPDX-License-Identifier: Apache-2.0
"""Traffic of a scenario: collectives and jobs, their traffic graphs, pools of memory, and workloads.

Its modules:

    jobs         collectives and jobs of a scenario
    graph        traffic graph of a job
    memory_pool  a pool of memory of a scenario
    workload     functions that return the jobs of a variant
"""
