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

    `shapes` lays out a graph-routed fabric of one dimension, and a fabric whose endpoints have one link each,
    to a switch; `tiers` lays out every other fabric.
    """
    if (fabric.graph_routed and len(fabric.dims) == 1) or _endpoints_are_leaves(fabric):
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


def _endpoints_are_leaves(fabric: Fabric) -> bool:
    """Return whether every endpoint has a single neighbour, a switch."""
    neighbours = [list(fabric.neighbours(node.name)) for node in fabric.endpoints]
    return not fabric.optical and all(
        len(names) == 1 and fabric.node(names[0]).is_switch for names in neighbours
    )
