# SPDX-License-Identifier: Apache-2.0
"""Verbs to show, scan or run a fabric: `railyard show`, `scan`, `up`, `clean`.

up_mininet.py    the part of `up` for the Mininet testbed
up_machines.py   the part of `up` for a fabric over several machines
"""
