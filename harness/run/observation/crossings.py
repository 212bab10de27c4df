# SPDX-License-Identifier: Apache-2.0
"""Count frames between rails (Rail-only) or planes (HPN) by the counters of the switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from controller.p4runtime.client import P4RuntimeClient
from controller.recovery.lacp import tor_numbers
from controller.tables.segments.rails import rail_of
from emulation.testbed import SwitchReport
from topologies import Fabric
from topologies.model.places import plane_of

__all__ = ["cross_plane_frames", "cross_rail_frames"]

# Index in the counter `drops` for frames to another rail, from p4/include/types.p4.
_FOREIGN_RAIL = 12

# Number of nodes whose counters are read at once; the counters of a node have 32 KiB.
_NODES_AT_ONCE = 256


def cross_rail_frames(fabric: Fabric, client: P4RuntimeClient) -> int | None:
    """Count frames for other rails: sent by leaves to spines of several rails, or dropped on a rail.

    Frames between two leaves of one rail over such a spine count as well, because no counter distinguishes
    them.

    Returns:
        The number of frames, or None if the fabric has no rails.
    """
    rails = {node: rail for node in fabric.nodes if (rail := rail_of(fabric, node.name)) is not None}
    if not rails:
        return None
    drops = client.read_counters([node.name for node in rails], "drops")
    total = sum(cells.get(_FOREIGN_RAIL, (0, 0))[0] for cells in drops.values())
    open_leaves = {node.name: node.tier for node, rail in rails.items() if not rail.closed}
    for name, sent in _sent_by_port(client, list(open_leaves)):
        uplinks = {
            fabric.port_to(name, neighbour)
            for neighbour in fabric.neighbours(name)
            if fabric.node(neighbour).tier > open_leaves[name]
        }
        total += sum(frames for port, frames in sent.items() if port in uplinks)
    return total


def _sent_by_port(client: P4RuntimeClient, nodes: Sequence[str]) -> Iterator[tuple[str, Mapping[int, int]]]:
    """Yield each node's name and its numbers of sent frames by port."""
    for first in range(0, len(nodes), _NODES_AT_ONCE):
        cells = client.read_counters(nodes[first : first + _NODES_AT_ONCE], "tx_by_port_vl")
        yield from ((node, SwitchReport.of(own.packets, 0, 0).sent) for node, own in cells.items())


def cross_plane_frames(fabric: Fabric, client: P4RuntimeClient) -> int | None:
    """Return a lower bound of the number of frames that changed planes at a switch.

    Counters have the number of frames from and to each plane, not the path of each frame, so two frames that
    change planes in opposite directions are not counted.

    Returns:
        The number of frames, or None if each NIC has one port.
    """
    if max(tor_numbers(fabric).values(), default=0) == 0:
        return None
    planes = plane_of(fabric)
    joining: dict[str, list[str]] = {}  # neighbours with a plane, of each switch that joins several planes
    for node in fabric.nodes:
        in_planes = [name for name in fabric.neighbours(node.name) if node.is_switch and name in planes]
        if len({planes[name] for name in in_planes}) > 1:
            joining[node.name] = in_planes
    sent = dict(_sent_by_port(client, list(dict.fromkeys(chain(joining, *joining.values())))))

    def frames(source: str, target: str) -> int:
        return sum(sent[source].get(port, 0) for port in fabric.ports_to(source, target))

    crossed = 0
    for node, in_planes in joining.items():
        surplus: Counter[int] = Counter()
        for name in in_planes:
            surplus[planes[name]] += frames(node, name) - frames(name, node)
        crossed += sum(count for count in surplus.values() if count > 0)
    return crossed
