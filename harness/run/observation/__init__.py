# SPDX-License-Identifier: Apache-2.0
"""Observations of runs, the input of metrics and reports.

values          observation of a run: traffic, faults, recovery, jobs, operations
collect         makes the observation of a run after its end
fault_log       log of controllers' reactions to faults, and of times in which ranks received nothing
incidents       course of each fault: detection, notices, rewritten entries, recovery, stalled ranks
crossings       frames that changed rail or plane, from counters
graph_ends      end of each job of a traffic graph, and check of its data
program_cells   counters and registers of P4 programs of the user's own
traffic_matrix  bytes that each rank has to send to each other rank
queue_log       depths of queues and rates of flows over time, where a scenario names queues
queue_recorder  samples of queues and flows during a run
variant_run     observation of a variant with bounds and rates of links
"""
