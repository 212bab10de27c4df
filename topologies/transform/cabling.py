# SPDX-License-Identifier: Apache-2.0
"""Fabrics with the same nodes and other cables: exchanged, or not plugged in."""

from dataclasses import replace

from topologies.errors import TopologyError
from topologies.model import Fabric

__all__ = ["swap_cables", "unplug"]


def swap_cables(fabric: Fabric, first: str, second: str) -> Fabric:
    """Return the fabric with the second ends of two links exchanged.

    The fault is a person who plugs two cables into each other's sockets. Links keep their names, lanes and
    rates. TopologyError if a link is unknown, or if both names are the same.
    """
    link_a, link_b = fabric.link(first), fabric.link(second)
    if link_a is link_b:
        raise TopologyError(f"link {first} cannot be exchanged with itself", remedy="name two links")
    changed = {first: replace(link_a, b=link_b.b), second: replace(link_b, b=link_a.b)}
    return replace(fabric, links=tuple(changed.get(link.name, link) for link in fabric.links))


def unplug(fabric: Fabric, name: str) -> Fabric:
    """Return the fabric without a link; TopologyError if the link is unknown."""
    removed = fabric.link(name)
    return replace(fabric, links=tuple(link for link in fabric.links if link is not removed))
