# SPDX-License-Identifier: Apache-2.0
"""Flow-level simulation of many jobs on one cluster: completion times on several fabrics.

rates.py     max-min fair rates of flows, classes in order
workload/    jobs as iterations of phases, traces of jobs, placement on NPUs
networks/    links and capacities: one switch, Clos, optical circuits
pace.py      progress of running jobs: its interface; orders to jobs, and readings of their work
fluid.py     progress by mean throughput, which changes only when a job arrives or leaves
simulate.py  arrivals, queue and ends of jobs
steering.py  a scheduler that sets paths, classes and shifts while jobs run
study.py     comparison of fabrics       plot.py  the comparison as SVG
"""
