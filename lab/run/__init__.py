# SPDX-License-Identifier: Apache-2.0
"""A scenario's values to an observation: prepare, boot, run, collect.

Its modules:

    prepare      everything that can be wrong, checked before anything starts
    collectives/ a scenario's collective: members, grid, schedule, connections, lower bounds
    graphs       traffic graphs, and jobs that share members
    job_plan     plan of a job: members, slices, bounds
    own_program  a P4 program of the user's own
    testbeds     choice of the testbed
    boot         a testbed with its tables filled
    runner       the run of every variant
    memory       memory that a run needs, and what the machine has
    kept         finished variants of an interrupted run
    job          jobs and their agents on a running testbed
    pool         a pool of memory: its plan, its agents and their outcome
    watch        watchers of a run, and faults by hand
    standstill   whom failures have cut off while only timers of the control plane run
    scheduling   priorities of jobs from measurements
    collect      observation of a run that has ended
    collect_graph  the jobs of a traffic graph at their end
    crossings    frames that changed rail or plane, from counters
    observation  the values that a run leaves behind
    saturation   a fabric filled until delivery or deadlock
"""
