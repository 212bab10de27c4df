# SPDX-License-Identifier: Apache-2.0
"""Paths that begin inside the sender's domain and continue at a neighbour's NIC: PXN (Rail-only, routing)."""

from collections.abc import Iterator
from typing import final

from controller.deadlock.turn_rules import RuleSet
from controller.paths.finder import PathFinder
from controller.paths.switch_paths import SwitchPaths
from controller.plan.entry import Path
from topologies import Fabric
from topologies.model.components import components
from topologies.model.computed_once import computed_once

__all__ = ["Relays"]


@final
class Relays:
    """Finds permitted paths through a neighbour of the source (PXN), over a finder's working links."""

    def __init__(self, finder: PathFinder, rules: RuleSet, by_switches: SwitchPaths) -> None:
        self._finder = finder
        self._fabric = finder.fabric
        self._rules = rules
        self._by_switches = by_switches
        self._inside: dict[str, tuple[Path, ...]] = {}

    def are_joined_by_switches(self, source: str, destination: str) -> bool:
        """Return whether switches alone join two endpoints when nothing has failed."""
        networks = _networks(self._fabric)
        return not networks[source].isdisjoint(networks[destination])

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return the shortest of all paths through a neighbour of the source in its domain.

        Switches alone join the neighbour to the destination.
        """
        paths: list[Path] = []
        for inside in self._paths_to_neighbours(source):
            if inside[-1] != destination and self.are_joined_by_switches(inside[-1], destination):
                paths += self._continue(inside, destination)
        fewest = min(map(len, paths), default=0)
        return [path for path in paths if len(path) == fewest]

    def shared_switch_paths(self, source: str, destination: str) -> list[Path]:
        """Return paths through a neighbour of the source that shares a switch with the destination.

        Empty if the source itself shares a switch with the destination.
        """
        switches = self._uplink_switches(destination)
        if not switches.isdisjoint(self._uplink_switches(source)):
            return []
        paths: list[Path] = []
        for inside in self._paths_to_neighbours(source):
            if inside[-1] != destination and not switches.isdisjoint(self._uplink_switches(inside[-1])):
                paths += self._continue(inside, destination)
        return paths

    def _continue(self, inside: Path, destination: str) -> Iterator[Path]:
        for rest in self._by_switches.shortest_paths(inside[-1], destination):
            path = (*inside, *rest[1:])
            if len({*path}) == len(path) and self._rules.vls_of(self._fabric, path) is not None:
                yield path

    def _uplink_switches(self, endpoint: str) -> frozenset[str]:
        """Return the switches above an endpoint, except those inside its domain."""
        return _uplink_switches(self._finder, endpoint)

    def _paths_to_neighbours(self, source: str) -> tuple[Path, ...]:
        """Return the paths to endpoints next to a source, or behind a switch inside its domain."""
        if source not in self._inside:
            paths: list[Path] = []
            for neighbour in self._finder.neighbours(source):
                node = self._fabric.node(neighbour)
                if not node.is_switch:
                    paths.append((source, neighbour))
                elif not node.level:
                    paths += [
                        (source, neighbour, peer)
                        for peer in self._finder.neighbours(neighbour)
                        if peer != source
                    ]
            self._inside[source] = tuple(paths)
        return self._inside[source]


@computed_once
def _uplink_switches(finder: PathFinder, endpoint: str) -> frozenset[str]:
    neighbours = finder.neighbours(endpoint)
    return frozenset(neighbour for neighbour in neighbours if finder.fabric.node(neighbour).level)


@computed_once
def _networks(fabric: Fabric) -> dict[str, frozenset[int]]:
    """Return the numbers of the switch networks at the links of each endpoint."""
    switches = {node.name for node in fabric.switches}
    ends = ((link.a.node, link.b.node) for link in fabric.links)
    parts = components(switches, (pair for pair in ends if switches.issuperset(pair)))
    number = {name: at for at, part in enumerate(parts) for name in part}
    return {
        node.name: frozenset(number[switch] for switch in fabric.neighbours(node.name) if switch in switches)
        for node in fabric.endpoints
    }
