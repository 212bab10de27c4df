# SPDX-License-Identifier: Apache-2.0
"""Lines of a fabric: nodes that differ in a single coordinate."""

from topologies.model.computed_once import computed_once
from topologies.model.fabric import Fabric

__all__ = ["is_sparse_mesh"]


@computed_once
def is_sparse_mesh(fabric: Fabric) -> bool:
    """Return whether some two nodes of a line have no link, as in a torus.

    False for a fabric with switches or optical switches.
    """
    if fabric.optical or any(node.is_switch for node in fabric.nodes):
        return False
    name_of = {node.coordinates: node.name for node in fabric.nodes}
    for coordinates, name in name_of.items():
        neighbours = fabric.neighbours(name)
        for axis, size in enumerate(fabric.dims):
            line = (name_of.get((*coordinates[:axis], at, *coordinates[axis + 1 :])) for at in range(size))
            if any(other not in (None, name) and other not in neighbours for other in line):
                return True
    return False
