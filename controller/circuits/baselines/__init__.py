# SPDX-License-Identifier: Apache-2.0
"""Allocations that others are compared with.

exact     fewest circuits moved, by integer program
uniform   uniform wiring: both directions of a port are on one optical switch
"""
