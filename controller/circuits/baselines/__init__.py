# SPDX-License-Identifier: Apache-2.0
"""Baseline allocations of circuits, for comparison.

exact     integer program that moves the fewest circuits
uniform   uniform wiring: both directions of a port are on one optical switch
"""
