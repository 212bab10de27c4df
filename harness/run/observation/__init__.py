# SPDX-License-Identifier: Apache-2.0
"""Values that a run leaves to be measured.

values          observation: traffic, faults, recovery, jobs, operations
collect         observation of a run that has ended
fault_log       what controllers did around faults, and when ranks received nothing
incidents       each fault told: detected, told, rewritten, recovered, and ranks that stalled
crossings       frames that changed rail or plane, from counters
graph_ends      end of each job of a traffic graph, and its data checked
program_cells   counters and registers of P4 programs of the user's own
traffic_matrix  bytes that each rank has to send to each other rank
queue_log       depths of queues and rates of flows over time, where a scenario names queues
queue_recorder  the watch that samples them while a run goes on
variant_run     observation of a variant with bounds and rates of links, from which metrics are computed
"""
