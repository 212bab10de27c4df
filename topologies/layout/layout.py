# SPDX-License-Identifier: Apache-2.0
"""Choice of the layout for a fabric, by its structure."""

from topologies.layout.shapes import place_graph
from topologies.layout.tiers import add_optical, grid, with_planes, with_tiers
from topologies.layout.values import Group, Layout
from topologies.model.fabric import Fabric
from topologies.model.places import planes

__all__ = ["layout"]


def layout(fabric: Fabric) -> Layout:
    """Return the layout of a fabric; equal fabrics have equal layouts.

    `shapes` lays out a graph-routed fabric of one dimension, `tiers` every other fabric.
    """
    if fabric.graph_routed and len(fabric.dims) == 1:
        return place_graph(fabric)
    switch_planes = planes(fabric) if any(node.tier for node in fabric.nodes) else []
    boxes: tuple[Group, ...] = ()
    if not any(node.tier for node in fabric.nodes):
        positions = grid(fabric)
    elif switch_planes:
        positions, boxes = with_planes(fabric, switch_planes)
    else:
        positions = with_tiers(fabric)
    add_optical(fabric, positions)
    return Layout(positions, boxes)
