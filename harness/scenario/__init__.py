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
    cell_metrics  metrics that are cells of counters and registers of programs of the user's own
    control    controllers of a variant, and identities of ToRs in LACPDUs
    document   a YAML file that remembers its lines
    loader     file -> checked scenario; errors of lower floors with their line
    study      axes of a study
    library    scenarios and studies that come with Railyard, by name
    digest     hash of a scenario and of the files that it names
    explain    messages for a scenario that fails its checks
"""
