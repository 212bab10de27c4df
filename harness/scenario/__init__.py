# SPDX-License-Identifier: Apache-2.0
"""Scenario files: schema, loader, and messages that name file, line and key.

Its modules:

    schema     scenario, variants, routing, assertions
    link       buffers and queues of links, congestion marks, pauses
    connection windows, connections and congestion control
    faults     a target, an event and its parameters
    topology   topology of a scenario: a family and its parameters
    traffic/   what a scenario sends: collectives, jobs, traffic graphs, pools of memory, workloads
    metrics    names, units and meanings of metrics, which assertions use
    cell_metrics  metrics from the counters and registers of the user's own P4 programs
    control    controllers of a variant, and identities of ToRs in LACPDUs
    document   a YAML file that remembers its lines
    loader     reads and checks a file; gives errors of lower floors the line that caused them
    study      axes of a study
    library    bundled scenarios and studies, by name
    digest     hash of a scenario and of the files that it names
    by_hand    faults by hand, added to a scenario and to its file
    explain    messages for a scenario that fails its checks
"""
