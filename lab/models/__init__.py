# SPDX-License-Identifier: Apache-2.0
"""Models of UB-Mesh by formula: each gives the paper's figure, ours, the difference and the reason.

# figure.py        a figure beside the paper's, and where ours comes from
# structure.py     a SuperPod's NPUs, lanes, cables and switches, counted
# networks.py      what UB-Mesh and the networks it is compared with are built of
# cost.py          CapEx, OpEx, cost-efficiency
# availability.py  failures a year, MTBF, availability
# linearity.py     performance of an NPU at scale
# training/        where a job's parallelisms go, and what an iteration takes
"""
