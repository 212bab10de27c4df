# SPDX-License-Identifier: Apache-2.0
"""A scenario's values to an observation: prepare, boot, run, collect.

Its modules:

    prepare      everything that can be wrong, checked before anything starts
    grids        members of a collective and the grid that they form
    collective   a scenario's collective -> its schedule
    bounds       lower bound of a collective's time
    connections  connections of a scenario as values of lb
    testbeds     choice of the testbed
    boot         a testbed with its tables filled
    runner       the run of every variant
    job          jobs and their agents on a running testbed
    scheduling   priorities of jobs from measurements
    collect      observation of a run that has ended
    crossings    frames that changed rail or plane, from counters
    observation  the values that a run leaves behind
    saturation   a fabric filled until delivery or deadlock
"""
