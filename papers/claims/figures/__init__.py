# SPDX-License-Identifier: Apache-2.0
"""Figures for claims: sources and computation.

functions.py  functions named in a file of claims
tasks.py      a task: a call of a model or a run of a scenario, in any process
sources.py    models and scenarios, their tasks, and figures by name
"""
