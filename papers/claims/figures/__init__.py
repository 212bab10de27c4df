# SPDX-License-Identifier: Apache-2.0
"""Figures that claims read: where they come from, and how they are computed.

functions.py   functions that a file of claims names
expression.py  arithmetic over figures, as a claim's `value:` has it
tasks.py       a call of a model or a run of a scenario, carried out in any process
sources.py     models and scenarios, their tasks, and figures by name
"""
