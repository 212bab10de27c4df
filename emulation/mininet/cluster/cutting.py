# SPDX-License-Identifier: Apache-2.0
"""Partition of a fabric's nodes over machines: parts of similar size with few links between (METIS)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import final

import pymetis

from emulation.errors import TestbedError
from emulation.mininet.cluster.machines import Machine
from topologies import Fabric, Link

__all__ = ["Cut", "cut"]


@final
class Cut:
    """A partition of a fabric: the machine of each of its nodes."""

    def __init__(self, fabric: Fabric, machine_of: Mapping[str, str]) -> None:
        self.fabric = fabric
        self.machine_of = machine_of
        self.crossing: Sequence[Link] = tuple(
            link for link in fabric.links if machine_of[link.a.node] != machine_of[link.b.node]
        )
        """Links between machines, in the order of the fabric, with circuits that are up at the start."""

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Pairs of machines, in both orders, that share a link or an optical switch."""
        ends = {(self.machine_of[link.a.node], self.machine_of[link.b.node]) for link in self.crossing}
        for switch in self.fabric.optical:
            ends |= set(combinations(sorted({self.machine_of[end.node] for end in switch.ends}), 2))
        return sorted({pair for a, b in ends for pair in ((a, b), (b, a))})

    @property
    def summary(self) -> str:
        """Numbers of nodes on each machine and of links between machines, as a sentence."""
        count = Counter(self.machine_of.values())
        nodes = ", ".join(f"{machine}: {number}" for machine, number in sorted(count.items()))
        return (
            f"{len(self.fabric.nodes)} nodes on {len(count)} machines ({nodes}); "
            f"{len(self.crossing)} of {len(self.fabric.links)} links cross machines, each by a VXLAN tunnel"
        )

    def part(self, machine: str) -> Fabric:
        """Return the part of a machine: its nodes, and all links with at least one end at its nodes."""
        nodes = tuple(node for node in self.fabric.nodes if self.machine_of[node.name] == machine)
        links = tuple(
            link
            for link in self.fabric.links
            if machine in (self.machine_of[link.a.node], self.machine_of[link.b.node])
        )
        return replace(self.fabric, nodes=nodes, links=links)


def cut(fabric: Fabric, machines: Sequence[Machine]) -> Cut:
    """Partition the nodes of a fabric over machines.

    If no machine names nodes, METIS partitions the fabric. Else the named nodes are on their machines, and
    each other node goes, in order, to the machine with room to which the node has most links.

    Raises:
        TestbedError: The fabric has fewer nodes than machines, two machines name the same node, or the named
            nodes leave none for a machine.
    """
    if len(fabric.nodes) < len(machines):
        raise TestbedError(
            f"fabric {fabric.name} has {len(fabric.nodes)} nodes, fewer than the {len(machines)} machines",
            remedy="name fewer machines",
        )
    named = _named(fabric, machines)
    machine_of = _filled(fabric, machines, named) if named else _by_metis(fabric, machines)
    if empty := [machine.name for machine in machines if machine.name not in machine_of.values()]:
        raise TestbedError(
            f"machine {empty[0]} gets no node, since other machines name all nodes",
            remedy="name a node of the fabric for it, or leave the machine out",
        )
    return Cut(fabric, machine_of)


def _named(fabric: Fabric, machines: Sequence[Machine]) -> dict[str, str]:
    named: dict[str, str] = {}
    for machine in machines:
        for node in machine.nodes:
            if named.setdefault(fabric.node(node).name, machine.name) != machine.name:
                raise TestbedError(
                    f"node {node} is on machine {named[node]} and on {machine.name}", remedy="name it once"
                )
    return named


def _neighbours(fabric: Fabric) -> dict[str, Counter[str]]:
    """Return the number of links to each neighbour, by node."""
    links: dict[str, Counter[str]] = {node.name: Counter() for node in fabric.nodes}
    for link in fabric.links:
        links[link.a.node][link.b.node] += 1
        links[link.b.node][link.a.node] += 1
    return links


def _by_metis(fabric: Fabric, machines: Sequence[Machine]) -> dict[str, str]:
    links = _neighbours(fabric)
    number = {node.name: index for index, node in enumerate(fabric.nodes)}
    starts, others, weights = [0], [], []
    for node in fabric.nodes:
        others += [number[other] for other in links[node.name]]
        weights += links[node.name].values()
        starts.append(len(others))
    graph = pymetis.CSRAdjacency(starts, others)
    _, parts = pymetis.part_graph(len(machines), graph, eweights=weights)
    machine_of = {node.name: machines[parts[index]].name for index, node in enumerate(fabric.nodes)}
    if len(set(machine_of.values())) < len(machines):  # METIS may leave a part of a tiny graph empty
        return _filled(fabric, machines, {})
    return machine_of


def _filled(fabric: Fabric, machines: Sequence[Machine], named: Mapping[str, str]) -> dict[str, str]:
    links = _neighbours(fabric)
    machine_of = dict(named)
    room = {machine.name: -(-len(fabric.nodes) // len(machines)) for machine in machines}
    for machine in named.values():
        room[machine] -= 1
    empty = room.keys() - named.values()
    left = len(fabric.nodes) - len(named)
    for node in fabric.nodes:
        if node.name in machine_of:
            continue
        # Each machine gets a node: the last nodes go to machines that still have none.
        candidates = sorted(empty, key=list(room).index) if left <= len(empty) else room
        adjacent: Counter[str] = Counter()
        for other, count in links[node.name].items():
            if other in machine_of:
                adjacent[machine_of[other]] += count
        best = max(candidates, key=lambda name: (room[name] > 0, adjacent[name], room[name]))
        machine_of[node.name] = best
        room[best] -= 1
        left -= 1
        empty = empty - {best}
    return machine_of
