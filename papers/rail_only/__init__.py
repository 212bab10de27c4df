# SPDX-License-Identifier: Apache-2.0
"""Rail-only compared with an any-to-any Clos, in closed form.

# claims.yaml     the paper's claims
# figures/        functions that compute or measure the figures of the claims
# parts.py        number, cost and power of switches and transceivers: Table II
# collectives.py  the paper's equations of AllGather, ReduceScatter, AllReduce and All-to-All
# iteration.py    time of an iteration by size of domain, bandwidths and batch
"""
