# SPDX-License-Identifier: Apache-2.0
"""Verbs for scenario files and results: `railyard run`, `check`, `serve`, `sweep`, `results`.

runs.py         runs of `railyard run`, one after the other
interrupts.py   ends a study in two steps: a first Ctrl-C lets runs finish, a second ends at once
"""
