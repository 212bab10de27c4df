# SPDX-License-Identifier: Apache-2.0
"""Simpler circuit allocations, for comparison.

exact     fewest circuits moved, by integer program
uniform   uniform wiring: both directions of a port are on one optical switch
"""
