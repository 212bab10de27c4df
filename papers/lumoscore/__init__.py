# SPDX-License-Identifier: Apache-2.0
"""LumosCore: the papers' claims, and the quality and speed of planning circuits between Pods.

# claims.yaml  the papers' claims
# figures/   functions that compute or measure the figures of the claims
# load.py    random demands; demands that change as jobs come and go, with the circuits before each change
# ratios.py  circuits created by each method, divided by the fewest, which an integer program finds
# speed.py   processor time of a change, from 2k to 32k NPUs, and the times that the authors published
# plot.py    chart of both times
"""
