# SPDX-License-Identifier: Apache-2.0
"""Verbs for papers' claims and models: `railyard experiments`, `model`.

experiments.py  railyard experiments
carrying.py     its progress, and the files of results
replay.py       a bundle of claims computed again
model.py        railyard model
"""
