# SPDX-License-Identifier: Apache-2.0
"""Spare NPUs: which may stand in for an NPU, and the fabric in which one does (UB-Mesh, 64+1)."""

from dataclasses import replace

from topologies.errors import TopologyError
from topologies.model import Fabric, NodeKind

__all__ = ["spares_for", "taken_over"]


def spares_for(fabric: Fabric, npu: str) -> tuple[str, ...]:
    """The spare NPUs of the rack that a node stands in, in their order."""
    rack = fabric.node(npu).coordinates[2:]
    return tuple(
        node.name for node in fabric.nodes if node.kind is NodeKind.SPARE and node.coordinates[2:] == rack
    )


def taken_over(fabric: Fabric, failed: str, spare: str) -> Fabric:
    """The same fabric with the addresses of two endpoints exchanged: the spare has that of the failed one.

    Who sends to the address notices nothing. Places and links stay: `Node.coordinates` still say where each
    stands. UB-Mesh gives the spare the place of the failed NPU; that it does so by its address is derived.
    """
    one, other = fabric.node(failed), fabric.node(spare)
    if one.tier or other.tier or one is other:
        raise TopologyError(
            f"fabric {fabric.name}: {spare} cannot take the address of {failed}",
            remedy="name two different endpoints",
        )
    exchanged = {failed: other.address, spare: one.address}
    nodes = tuple(
        replace(node, address=exchanged[node.name]) if node.name in exchanged else node
        for node in fabric.nodes
    )
    return replace(fabric, nodes=nodes)
