# SPDX-License-Identifier: Apache-2.0
"""Algorithms of congestion control in Python: the specification of emulation/engine/hosts/congestion.

Each is a class as a user writes one, so a scenario can run it as FILE.py:NAME.

nscc     network signalled congestion control of Ultra Ethernet
swift    Swift, by delay
dcqcn    DCQCN, by marks
"""
