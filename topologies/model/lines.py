# SPDX-License-Identifier: Apache-2.0
"""Lines of a fabric: the nodes that differ in one coordinate."""

from topologies.model.computed_once import computed_once
from topologies.model.fabric import Fabric

__all__ = ["is_sparse_mesh"]


@computed_once
def is_sparse_mesh(fabric: Fabric) -> bool:
    """Return whether endpoints alone form lines of which some lack a link between two members, as in a torus.

    False for a fabric with switches or optical switches.
    """
    if fabric.optical or any(node.is_switch for node in fabric.nodes):
        return False
    by_place = {node.coordinates: node.name for node in fabric.nodes}
    for place, name in by_place.items():
        neighbours = fabric.neighbours(name)
        for axis, size in enumerate(fabric.dims):
            line = (by_place.get((*place[:axis], at, *place[axis + 1 :])) for at in range(size))
            if any(other not in (None, name) and other not in neighbours for other in line):
                return True
    return False
