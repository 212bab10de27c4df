# SPDX-License-Identifier: Apache-2.0
"""Runs of scenarios: prepare the variants, boot a testbed, run each variant, collect its observation.

Its modules:

    collectives/ a scenario's collective: members, grid, schedule, connections, lower bounds
    programs/    P4 programs of a run: for headers, congestion marks and sums, or the user's own
    memory_pool/ a pool of memory: its plan, its agents and their outcome
    in_switches/ collectives that switches carry out: trees, slots, members
    planning/    plans of jobs: schedules, traffic graphs, SerDes lanes
    prepare      plans all variants and checks them before any testbed starts
    transport    windows, timeouts and congestion control of a variant
    proof        proof of the schedules of a user's own collectives
    estimated_memory  estimated memory of a run, and the memory of this machine
    testbeds     choice of the testbed, and the testbed in virtual time
    real_time    Mininet as the testbed, and its dilation
    boot         start of a testbed, installation of programs and table entries
    jobs/        jobs on a running testbed, and their priorities
    watchdog     ends a run in which only timers of the control plane still act
    observation/ measured values of a run, and their collection
    watch        watchers of a run, and faults by hand
    resume_store finished variants of an interrupted run
    runner       runs all variants, one after the other
    saturation   fills a fabric with frames until all arrive or a deadlock occurs
"""
