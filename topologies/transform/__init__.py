# SPDX-License-Identifier: Apache-2.0
"""Fabrics derived from a fabric: other circuits, cables or lanes, spares instead of failed nodes.

circuits  the fabric with other circuits of its optical switches
cabling   cables exchanged or not plugged in
serdes_lanes  lanes of endpoints distributed over the dimensions in another way
spares    idle endpoints and switches, and the fabric in which they replace failed ones
remedies  replacements for a failed node, in the order in which to try them
"""
