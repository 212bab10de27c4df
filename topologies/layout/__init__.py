# SPDX-License-Identifier: Apache-2.0
"""Positions of nodes and curves of links in a drawing of a fabric; equal fabrics have equal layouts.

values  positions, boxes and curves of a layout, as values
tiers   grids, racks, planes and tiers of families, from coordinates
rows    levels of a graph as rows, endpoints below their switches
shapes  graphs of any form: given positions, groups, levels, a circle, or springs
curves  curves of links that avoid other nodes
layout  choice of the layout for a fabric
"""
