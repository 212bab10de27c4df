# SPDX-License-Identifier: Apache-2.0
"""Crux and what it is compared with: accelerators busy computing, at flow level.

# claims.yaml   the paper's claims
# figures/      functions that compute or measure the figures of the claims
# workloads.py  kinds of jobs, two jobs on a link, 96 accelerators, a trace of two weeks
# study.py      schedulers on a trace: utilisation, times, who is at risk
# testbed.py    few jobs that run side by side, iteration by iteration
# pair.py       two jobs that contend: the measurement that starts the paper
# contended.py  jobs on links that no path avoids: what an order by intensity is worth
# baselines.py  examples of the papers of Sincronia and CASSINI
# steps.py      each step of Crux against the best of all choices
# plot.py       utilisation by scheduler
"""
