# SPDX-License-Identifier: Apache-2.0
"""Verbs for claims of papers and for closed-form models: `railyard experiments`, `model`.

experiments.py  railyard experiments
carrying.py     progress and result files of `railyard experiments`
replay.py       `railyard experiments` of a bundle, which computes its claims again
model.py        railyard model
"""
