# SPDX-License-Identifier: Apache-2.0
"""Figures that claims read: their sources and their computation.

functions.py   functions that a file of claims names
expression.py  arithmetic over figures, for a claim's `value:`
tasks.py       a task: a call of a model or a run of a scenario, in any process
sources.py     models and scenarios, their tasks, and figures by name
"""
