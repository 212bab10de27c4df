# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh: the paper's claims and the models that compute its figures.

# claims.yaml      the paper's claims
# figures/         functions that compute or measure the figures of the claims
# structure.py     a SuperPod in numbers: NPUs, lanes, cables and switches
# networks.py      switches and lanes of cable of UB-Mesh and of the networks it is compared with
# cost.py          CapEx, OpEx and cost-efficiency
# availability.py  failures a year and availability
# shares.py        share of a path in what a source sends, as a link slows down and recovers
"""
