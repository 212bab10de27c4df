# SPDX-License-Identifier: Apache-2.0
"""Entries of the table congestion: the queue depths of a port at which frames are marked."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from controller.plan.entry import Entry, Exact
from controller.tables.actions import MARK_BETWEEN, MARK_FROM
from topologies import End, Fabric

__all__ = ["Marking", "congestion_entries"]

_WHOLE = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class Marking:
    """Queue depths for marking frames at ports, as numbers of frames waiting behind a departing frame.

    Between depths `first` and `last`, the probability of a mark grows from 0 to `share`. From `last` on,
    every frame is marked. `to_hosts`: the ports to the nodes' own hosts mark frames too.
    """

    first: int
    last: int
    share: float = 1.0
    to_hosts: bool = False


def congestion_entries(
    fabric: Fabric, marking: Marking, ports: Mapping[End, Marking] = MappingProxyType({})
) -> Mapping[str, tuple[Entry, ...]]:
    """Return, by node, an entry for each port to another node, and for host ports if `marking.to_hosts`.

    `ports` replaces `marking` for single ports.
    """
    ends = [end for link in fabric.links for end in (link.a, link.b)]
    ends += [end for optical in fabric.optical for end in optical.ends]
    ends += fabric.host_ends().values() if marking.to_hosts else ()
    by_node: dict[str, set[int]] = {node.name: set() for node in fabric.nodes}
    for end in ends:
        if end.node in by_node:
            by_node[end.node].add(end.port)
    return {
        node: tuple(_entry(port, ports.get(End(node, port), marking)) for port in sorted(numbers))
        for node, numbers in by_node.items()
    }


def _entry(port: int, marking: Marking) -> Entry:
    match = (("egress_port", Exact(port)),)
    if marking.first == marking.last:
        return MARK_FROM.entry(match, marking.last)
    part = min(round(marking.share * _WHOLE), _WHOLE - 1)
    return MARK_BETWEEN.entry(match, marking.first, marking.last, part)
