# SPDX-License-Identifier: Apache-2.0
"""Baseline allocations of circuits, for comparison.

exact     fewest circuits moved, by integer program
uniform   uniform wiring: both directions of a port are on one optical switch
"""
