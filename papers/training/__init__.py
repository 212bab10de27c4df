# SPDX-License-Identifier: Apache-2.0
"""Iteration times of a training job on an interconnect, in closed form.

# workload.py      models, layouts (TP, SP, EP, PP, DP), and what an NPU sends in an iteration
# interconnect.py  lanes by dimension, ways along each, and the least time of a collective over them
# placement.py     where a layout's groups lie, whether it fits into memory, and which layouts there are
# iteration.py     the time of an iteration; the layout and placement of which it is least; linearity
# calibration.py   the collective model beside the emulator
# percentages.py   percentages of a study, as figures of claims
# study.py         a study file: interconnects compared, beside the paper's values
# plot.py          a study as one sheet
"""
