# SPDX-License-Identifier: Apache-2.0
"""Progress of running jobs on a fabric: two models and their interface.

pace.py   the interface; orders to jobs, and readings of their work
exact.py  phase by phase, every flow at its max-min fair rate
fluid.py  by mean throughput, which changes only when a job arrives or leaves
"""
