# SPDX-License-Identifier: Apache-2.0
"""Flow-level simulation of many jobs on one cluster: completion times on several fabrics.

rates.py     max-min fair rates of flows, classes in order
workload/    jobs as iterations of phases, traces of jobs, placement on NPUs
networks/    links and capacities: one switch, Clos, optical circuits
progress/    advance of running jobs: phase by phase, or by mean throughput
simulate.py  arrivals, queue and ends of jobs
steering.py  a scheduler that sets paths, classes and shifts while jobs run
study.py     comparison of fabrics       plot.py  the comparison as SVG
"""
