# SPDX-License-Identifier: Apache-2.0
"""Iteration times of a training job on an interconnect, in closed form.

workload.py      models, layouts (TP, SP, EP, PP, DP), and what an NPU sends in an iteration
interconnect.py  lanes and routes by dimension, and the least time of a collective over them
placement.py     coordinates of a layout's groups, memory of a layout, and all layouts to choose from
iteration.py     the time of an iteration; the fastest layout and placement; linearity
calibration.py   the collective model compared with the emulator
percentages.py   percentages of a study, as figures of claims
study.py         a study file: interconnects compared, beside the paper's values
plot.py          a study as one SVG sheet
"""
