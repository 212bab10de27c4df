# SPDX-License-Identifier: Apache-2.0
"""Rail-only beside an any-to-any Clos, in closed form.

# claims.yaml     the paper's claims
# figures/        functions that compute or measure the figures of the claims
# parts.py        switches and transceivers, cost and power: Table II
# collectives.py  the paper's equations of AllGather, ReduceScatter, AllReduce and All-to-All
# iteration.py    what an iteration takes by size of domain, bandwidths and batch
"""
