# SPDX-License-Identifier: Apache-2.0
"""Layout of a fabric, by what the fabric says of its structure."""

from topologies.layout.shapes import place_graph
from topologies.layout.tiers import add_optical, grid, with_planes, with_tiers
from topologies.layout.values import Group, Layout
from topologies.model.fabric import Fabric
from topologies.model.places import planes

__all__ = ["layout"]


def layout(fabric: Fabric) -> Layout:
    """Return the positions of a fabric's nodes; equal fabrics have equal layouts.

    A graph of one dimension has the form that `shapes` finds in it; every other fabric follows its
    coordinates and tiers.
    """
    if fabric.graph_routed and len(fabric.dims) == 1:
        return place_graph(fabric)
    switch_planes = planes(fabric) if any(node.tier for node in fabric.nodes) else []
    boxes: tuple[Group, ...] = ()
    if not any(node.tier for node in fabric.nodes):
        places = grid(fabric)
    elif switch_planes:
        places, boxes = with_planes(fabric, switch_planes)
    else:
        places = with_tiers(fabric)
    add_optical(fabric, places)
    return Layout(places, boxes)
