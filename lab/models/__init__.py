# SPDX-License-Identifier: Apache-2.0
"""Models by formula: each gives the paper's figure, ours, the difference and the reason.

Those of UB-Mesh are here, those of Rail-only in rail/; circuits/, crux/ and flow_level/ measure.

# figure.py        a figure beside the paper's, and where ours comes from
# structure.py     a SuperPod's NPUs, lanes, cables and switches, counted
# networks.py      what UB-Mesh and the networks it is compared with are built of
# cost.py          CapEx, OpEx, cost-efficiency
# availability.py  failures a year, MTBF, availability
# linearity.py     performance of an NPU at scale
# circuits/        circuits between Pods: how fast planned, how few moved
# crux/            schedulers of jobs compared, and with the best there is
# flow_level/      jobs on one cluster, flow by flow
# rail/            rail-only beside an any-to-any Clos: cost, collectives, iteration times
# training/        where a job's parallelisms go, and what an iteration takes
"""
