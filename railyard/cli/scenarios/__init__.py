# SPDX-License-Identifier: Apache-2.0
"""Verbs for a scenario file: `railyard run`, `check`, `serve`, `sweep`, `results`.

interrupts.py   ends a study in two steps when a signal comes
"""
