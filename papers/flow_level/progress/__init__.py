# SPDX-License-Identifier: Apache-2.0
"""Progress of running jobs on a fabric.

pace.py   the interface, with the order and the counted work of jobs
exact.py  phase by phase, every flow at its max-min fair rate
fluid.py  by mean throughput, which changes only when a job comes or goes
"""
