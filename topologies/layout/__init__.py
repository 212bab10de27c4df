# SPDX-License-Identifier: Apache-2.0
"""Positions of nodes and curves of links in a drawing of a fabric; equal fabrics have equal layouts.

values  positions, boxes and curves of a layout, as values
tiers   grids, racks, planes and tiers of the families whose coordinates say where a node stands
rows    levels of a graph as rows, endpoints below their switches
shapes  graphs of any form: given positions, groups, levels, a circle, or a balance of springs
curves  links that pass no node between their ends
layout  the layout of a fabric, by what the fabric says of its structure
"""
