# SPDX-License-Identifier: Apache-2.0
"""A scenario's values to an observation: prepare, boot, run, collect.

Its modules:

    prepare      everything that can be wrong, checked before anything starts
    collectives/ a scenario's collective: members, grid, schedule, connections, lower bounds
    jobs/        jobs of a run: plans, agents on a running testbed, graphs, priorities, ends
    network_header  programs for the CNA24 header and for congestion marks, and their limits
    own_program  a P4 program of the user's own
    lanes        lanes of jobs, dealt among dimensions and moved when a job starts
    testbeds     choice of the testbed
    boot         a testbed with its tables filled
    runner       the run of every variant
    memory       memory that a run needs, and what the machine has
    kept         finished variants of an interrupted run
    pool         a pool of memory: its plan, its agents and their outcome
    watch        watchers of a run, and faults by hand
    standstill   whom failures have cut off while only timers of the control plane run
    collect      observation of a run that has ended
    crossings    frames that changed rail or plane, from counters
    observation  the values that a run leaves behind
    saturation   a fabric filled until delivery or deadlock
"""
