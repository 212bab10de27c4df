# SPDX-License-Identifier: Apache-2.0
"""Entries of the table congestion: the depths of a port's queue at which frames are marked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from controller.plan.entry import Entry, Exact
from controller.tables.actions import MARK_BETWEEN, MARK_FROM
from topologies import Fabric

__all__ = ["Marking", "congestion_entries"]

_WHOLE = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class Marking:
    """Queue depths for marks: frames that wait behind a departing frame.

    From `last` frames on the frame is marked; between `first` and `last` with a probability that grows from 0
    to `share`. `to_hosts`: the ports to the nodes' own hosts mark as well.
    """

    first: int
    last: int
    share: float = 1.0
    to_hosts: bool = False


def congestion_entries(fabric: Fabric, marking: Marking) -> Mapping[str, tuple[Entry, ...]]:
    """Return an entry for each port that marks, by node: ports to other nodes, and to hosts if asked for."""
    ends = [end for link in fabric.links for end in (link.a, link.b)]
    ends += [end for optical in fabric.optical for end in optical.ends]
    ends += fabric.host_ends().values() if marking.to_hosts else ()
    ports: dict[str, set[int]] = {node.name: set() for node in fabric.nodes}
    for end in ends:
        if end.node in ports:
            ports[end.node].add(end.port)
    return {node: tuple(_entry(port, marking) for port in sorted(of_node)) for node, of_node in ports.items()}


def _entry(port: int, marking: Marking) -> Entry:
    match = (("egress_port", Exact(port)),)
    if marking.first == marking.last:
        return MARK_FROM.entry(match, marking.last)
    part = min(round(marking.share * _WHOLE), _WHOLE - 1)
    return MARK_BETWEEN.entry(match, marking.first, marking.last, part)
