# SPDX-License-Identifier: Apache-2.0
"""LumosCore: the papers' claims, and the quality and speed of planning circuits between Pods.

# claims.yaml  the papers' claims
# figures/   functions that compute or measure the figures of the claims
# load.py    random demands; a demand as jobs come and go, and the circuits that stand then
# ratios.py  circuits made by each method, over the fewest by the exact program
# speed.py   processor time of a change, from 2k to 32k NPUs, beside what the authors published
# plot.py    the same as a picture
"""
