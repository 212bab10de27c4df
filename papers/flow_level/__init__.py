# SPDX-License-Identifier: Apache-2.0
"""Many jobs on one cluster, flow by flow: when each ends on which fabric.

# rates.py      max-min fair rates, classes in order
# jobs.py       iterations of arithmetic and phases; who sends to whom
# traces.py     when jobs come, how large and long they are; their files
# placement.py  which NPUs a job gets
# fabrics.py    one switch; Clos by hash          optical.py  circuits between Pods
# pace.py       how jobs go on: exact.py phase by phase, fluid.py by mean throughput
# simulate.py   arrivals, queue, ends             study.py plot.py  fabrics compared
# pinned.py     a Clos with chosen paths         steering.py  a scheduler of them, of classes and shifts
# ecmp.py       an HPN Pod by its installed hash  allreduces.py plot_paths.py  what paths are worth there
# packets.py    the same rates for one schedule, to hold beside the packet engine
"""
