# SPDX-License-Identifier: Apache-2.0
"""Entries of the table congestion: the depth of a port's queue from which frames are marked."""

from collections.abc import Mapping

from controller.plan.entry import Entry, Exact
from controller.tables.actions import MARK_FROM
from topologies import Fabric

__all__ = ["congestion_entries"]


def congestion_entries(fabric: Fabric, frames: int) -> Mapping[str, tuple[Entry, ...]]:
    """Return an entry for each port that may lead to another node, by node.

    A frame that leaves by the port is marked if at least `frames` frames wait behind it.
    """
    ends = [end for link in fabric.links for end in (link.a, link.b)]
    ends += [end for optical in fabric.optical for end in optical.ends]
    ports: dict[str, set[int]] = {node.name: set() for node in fabric.nodes}
    for end in ends:
        if end.node in ports:
            ports[end.node].add(end.port)
    return {
        node: tuple(MARK_FROM.entry((("egress_port", Exact(port)),), frames) for port in sorted(of_node))
        for node, of_node in ports.items()
    }
