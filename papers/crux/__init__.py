# SPDX-License-Identifier: Apache-2.0
"""Crux and other job schedulers: share of time that accelerators compute, mostly at flow level.

# claims.yaml   the paper's claims
# figures/      functions that compute or measure the figures of the claims
# workloads.py  kinds of jobs, and a synthetic trace of two weeks
# study.py      schedulers on a trace: utilisation, slowdown of jobs
# testbed.py    a few jobs at once on 96 accelerators, iteration by iteration
# pair.py       two jobs that contend: the paper's first measurement
# contended.py  jobs on links that no path avoids: gain of an order by intensity
# baselines.py  examples of the papers of Sincronia and CASSINI
# steps.py      each step of Crux against the optimum by exhaustive search
# plot.py       utilisation by scheduler
"""
