# SPDX-License-Identifier: Apache-2.0
"""A scenario's values to an observation: prepare, boot, run, collect.

Its modules:

    collectives/ a scenario's collective: members, grid, schedule, connections, lower bounds
    programs/    P4 programs of a run: for headers, congestion marks and sums, or the user's own
    memory_pool/ a pool of memory: its plan, its agents and their outcome
    in_switches/ collectives that switches carry out: trees, slots, members
    planning/    plans of jobs: schedules, traffic graphs, SerDes lanes
    prepare      everything that can be wrong, checked before anything starts
    transport    windows and timeouts of a variant, and what congestion control knows of the fabric
    proof        proof of the schedules of a user's own collectives
    estimated_memory  memory that a run needs, and what the machine has
    testbeds     choice of the testbed, and that in virtual time
    real_time    Mininet as the testbed, and its dilation
    boot         a testbed with its tables filled
    jobs/        jobs on a running testbed, and their priorities
    watchdog     ends a run in which only timers of the control plane still act
    observation/ the values that a run leaves behind, and their collection
    watch        watchers of a run, and faults by hand
    resume_store finished variants of an interrupted run
    runner       the run of every variant
    saturation   a fabric filled until delivery or deadlock
"""
