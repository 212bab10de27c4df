# SPDX-License-Identifier: Apache-2.0
"""Announcements of links where every node is told of each failure (`Scheme.tells_everybody`), each once.

Flooding carries a notice over every link in both directions. Here each node gets a single notice, from the
link end nearer to the node, along a path without failed links. Three rules make up for what an end does not
know yet:

    another failure  a node that learns of another failed link repeats notices sent over that link, on other
                     paths
    a lost end       if no link reaches an end any more, its first working neighbour announces in its place
    the witness      this neighbour is told of every link of the end, so that it knows when to announce

The paper leaves the details of direct notification out; this is derived here.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import final

from controller.paths.finder import PathFinder
from controller.paths.permitted import permitted_tree
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import Path
from controller.recovery.shared_schemes import SharedSchemes, hops_from
from controller.schemes.scheme import Scheme
from topologies import Link
from topologies.model.computed_once import computed_once

__all__ = ["Announcements"]


@final
class Announcements:
    """Notices of one node: the sent notices, and the notices to send after each learned change.

    `sequences` are sequence numbers of links that count as announced.
    """

    def __init__(self, schemes: SharedSchemes, node: str, sequences: Mapping[str, int]) -> None:
        self._schemes = schemes
        self._node = node
        self._earlier = dict(sequences)
        # By link and receiver: the sequence number of the last notice, and its path.
        self._sent: dict[str, dict[str, tuple[int, Path]]] = {}

    def due(self, sequences: Mapping[str, int], down: Set[str]) -> Iterator[tuple[Link, Path]]:
        """Yield the links to announce now, each with the path of a notice; count these notices as sent.

        Args:
            sequences: The last known sequence number of every link that has changed.
            down: Links that the node knows to be down.
        """
        scheme, fabric = self._schemes.without(down), self._schemes.plan.fabric
        own = {self._node, *fabric.neighbours(self._node)}
        for name, sequence in sequences.items():
            link = fabric.link(name)
            if own.isdisjoint((link.a.node, link.b.node)) or self._earlier.get(name) == sequence:
                continue
            if not self._schemes.within_reach(name):
                continue  # its news floods
            sent = self._sent.setdefault(name, {})
            for target, path in self._receivers(link, scheme):
                before = sent.get(target)
                if before and before[0] == sequence and scheme.finder.is_alive(before[1]):
                    continue
                sent[target] = sequence, path
                yield link, path

    def _receivers(self, link: Link, scheme: Scheme) -> Iterator[tuple[str, Path]]:
        """Yield the nodes to which this node announces a link, each with the path to it."""
        ends = (link.a.node, link.b.node)
        sides = [end for end in ends if self._speaker(end, scheme) == self._node]
        told: set[str] = set()
        if sides:
            for target, side in self._schemes.nearer_ends(link.name).items():
                if side in sides and target != self._node and (path := self._path_to(target, scheme)):
                    told.add(target)
                    yield target, path
        if self._node not in ends:
            return
        lost = link.far(self._node).node
        # A path over the end itself would not arrive if it is lost.
        paths = permitted_tree(
            scheme.finder, scheme.rules, self._node, MAX_INSTRUCTIONS, scheme.may_relay, avoid=lost
        )
        beside = _relaying_neighbours(scheme, lost)
        witness = next((name for name in beside if name in paths), self._node)
        if witness not in {self._node, *told}:
            yield witness, paths[witness]

    def _speaker(self, end: str, scheme: Scheme) -> str | None:
        """Return the node that announces a link's state for an end of the link; None if there is none.

        The result is the end itself if this node reaches the end, otherwise a neighbour of the end that this
        node reaches and that forwards frames of other nodes.
        """
        reached = _component(scheme.finder, self._node)
        if end in reached:
            return end
        return next((name for name in _relaying_neighbours(scheme, end) if name in reached), None)

    def _path_to(self, target: str, scheme: Scheme) -> Path | None:
        """Return a path; source-route instructions steer its first six hops, and tables the rest."""
        path = scheme.message_path(self._node, target)
        return path or next(iter(scheme.shortest_paths(self._node, target)), None)


def _relaying_neighbours(scheme: Scheme, node: str) -> Sequence[str]:
    """Return the neighbours that forward frames of other nodes, as if no link had failed."""
    return [name for name in scheme.fabric.neighbours(node) if scheme.may_relay(name)]


@computed_once
def _component(finder: PathFinder, node: str) -> frozenset[str]:
    """Return a node and all nodes joined to it by working links."""
    return frozenset(hops_from(finder, node))
