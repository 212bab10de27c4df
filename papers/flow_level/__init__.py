# SPDX-License-Identifier: Apache-2.0
"""Many jobs on one cluster, flow by flow: when each ends on which fabric.

rates.py     max-min fair rates of flows, classes in order
workload/    jobs as iterations of phases, traces of jobs, placement on NPUs
fabrics/     links and capacities: one switch, Clos, optical circuits
progress/    advance of running jobs: phase by phase, or by mean throughput
simulate.py  arrivals, queue, ends
steering.py  a scheduler that sets paths, classes and shifts while jobs run
study.py     fabrics compared            plot.py  the comparison as SVG
"""
