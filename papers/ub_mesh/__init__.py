# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh: the paper's claims and the models that compute its figures.

# claims.yaml      the paper's claims
# figures/         functions that compute or measure the figures of the claims
# structure.py     numbers of NPUs, lanes, cables and switches of a SuperPod
# networks.py      switches and cable lanes of UB-Mesh and of alternative networks
# cost.py          CapEx, OpEx and cost-efficiency
# availability.py  failures a year and availability
# shares.py        share of a path in the traffic of a source, as a link slows down and recovers
"""
