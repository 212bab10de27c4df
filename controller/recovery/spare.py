# SPDX-License-Identifier: Apache-2.0
"""Nodes that are gone, the spares that take their places, and the plan that makes it so.

64+1 (UB-Mesh, backup): the spare takes over the logical address of the failed NPU, so whoever sends to it
goes on as before. Only ways change: what went by the failed NPU's links climbs to the switches and comes down
at the spare. Nobody forwards by way of such a spare: it has links to switches only, and no route climbs again
after its descent.

GPUs in domains (Rail-only, faults) are replaced in the same way, one or all of a domain, and so are switches;
which spares can do so, and which circuits it takes, is for `topologies.transform.remedies` to say.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from typing import final

from controller.deadlock.turn_rules import rule_set
from controller.diff import Update, diff
from controller.plan import Entry, Plan
from controller.planner import make_plan
from controller.routing.all_path import Router
from controller.routing.paths import PathFinder
from controller.routing.weights import Demand, Pair
from topologies import Fabric, Node
from topologies.transform.remedies import advice, remedies, serves, why_none
from topologies.transform.spares import Replacement, Side, cut_from, replaced

__all__ = ["SparePool", "links_of", "takeover"]


def links_of(fabric: Fabric, node: str) -> frozenset[str]:
    """Names of all links of a node."""
    ports = fabric.node(node).ports
    return frozenset(link.name for port in ports if (link := fabric.link_at(node, port.number)) is not None)


def takeover(
    plan: Plan,
    found: Replacement,
    *,
    down: Set[str] = frozenset(),
    peers: Iterable[Pair] | None = None,
    demand: Demand | None = None,
    installed: Mapping[str, Iterable[Entry]] | None = None,
    partial: bool = False,
) -> tuple[Plan, dict[str, tuple[Update, ...]]]:
    """The plan in which spares have their places, and the updates of each node's tables.

    `down` are links that have failed, those of the nodes replaced beside them. `peers` are the pairs to plan
    for, by the nodes that then hold the addresses; those that were planned for unless given. Nodes that have
    no link left, or none out of their domain or into it, are left out. `demand` is as for `make_plan`.
    `installed` is what tables hold now, the plan's entries unless given. PlanError when a pair has no path,
    unless the plan may be `partial`: such a pair is then left out.
    """
    fabric = replaced(plan.fabric, found)
    failed = {name for node in found.places for name in links_of(fabric, node)}
    gone = frozenset(link.name for link in fabric.links if link.name in down or link.name in failed)
    if peers is None:
        moved = {**found.places, **{spare: node for node, spare in found.places.items()}}
        peers = [(moved.get(source, source), moved.get(far, far)) for source, far in plan.routes]
    alone = {
        node.name
        for node in fabric.nodes
        if links_of(fabric, node.name) <= gone or cut_from(fabric, node.name, gone)
    }
    one_way = [pair for pair in peers if alone.isdisjoint(pair)]
    wanted = {way for one, other in one_way for way in ((one, other), (other, one))}
    if partial:
        router = Router(PathFinder(fabric, gone, plan.hashing), rule_set(plan.rules, fabric), plan.strategy)
        apart = {pair for pair in wanted if not router.shortest_paths(*pair)}
        wanted -= apart | {(other, one) for one, other in apart}
    new = make_plan(
        fabric,
        strategy=plan.strategy,
        rules=plan.rules,
        hashing=plan.hashing,
        demand=None if demand is None else {pair: demand[pair] for pair in demand if pair in wanted},
        peers=wanted,
        failed=gone,
    )
    before = plan.entries if installed is None else installed
    return new, {name: diff(before[name], entries) for name, entries in new.entries.items()}


@final
class SparePool:
    """Which nodes are lost, by what their neighbours say of their links, and which spares are left.

    An endpoint is lost when it is gone, or when a side that it needs, its domain or the network between
    domains, has no link. `holders` gives, for every node that has been replaced, the spare that has its place
    now. `members` are those whose loss matters, all that can be members unless given. A state machine without
    clock: it is told of ports.
    """

    def __init__(self, fabric: Fabric, members: Collection[str] | None = None) -> None:
        self._fabric = fabric
        self._members = frozenset(
            [node.name for node in fabric.nodes if node.kind.member] if members is None else members
        )
        self._dark: set[tuple[str, int]] = set()
        self.holders: dict[str, str] = {}
        self._used: set[str] = set()

    @property
    def fabric(self) -> Fabric:
        """With all replacements so far."""
        return self._fabric

    @property
    def down(self) -> frozenset[str]:
        """Links of which one end says that they are down."""
        links = (self._fabric.link_at(*end) for end in self._dark)
        return frozenset(link.name for link in links if link is not None)

    def on_port(self, node: str, port: int, up: bool) -> str | None:
        """A port was found to be up or down: who is in a place, and lost by that."""
        (self._dark.discard if up else self._dark.add)((node, port))
        far = self._fabric.peer(node, port)
        if up or far is None:
            return None
        if self.is_lost(far.node):
            return far.node
        return node if self.lost_side(node) and self.is_lost(node) else None

    def is_gone(self, node: str) -> bool:
        """Whether the neighbours of a node have lost all links to it.

        Of a switch by the words of those that are not gone themselves; of one without links nobody knows.
        """
        ends = [self._fabric.link(name).far(node) for name in links_of(self._fabric, node)]
        if self._fabric.node(node).tier:
            ends = [end for end in ends if self._fabric.node(end.node).tier or not self.is_gone(end.node)]
        return bool(ends) and all((end.node, end.port) in self._dark for end in ends)

    def lost_side(self, node: str) -> Side | None:
        """The side to which an endpoint that needs two has no link that works."""
        return cut_from(self._fabric, node, self.down)

    def is_lost(self, node: str) -> bool:
        """Whether a member, or a spare in the place of one, is gone or lacks a side."""
        if not self._holds(self._fabric.node(node)):
            return False
        return self.is_gone(node) or self.lost_side(node) is not None

    def lost_nodes(self) -> tuple[str, ...]:
        """All that are lost and have not been replaced."""
        return tuple(node.name for node in self._fabric.nodes if self.is_lost(node.name))

    def find_replacement(self, node: str) -> Replacement | None:
        """What is to take the place of a node that is lost: the first that is free, there and of use."""
        down = self.down
        for found in remedies(self._fabric, node, holders=self.holders, down=down, is_gone=self.is_gone):
            free = not any(one in self._used or self.is_gone(one) for one in found.places.values())
            if free and serves(self._fabric, node, found, down=down, is_gone=self.is_gone):
                return found
        return None

    def why_none(self, node: str) -> str:
        """Why nothing can take the place of a node, in words."""
        return why_none(self._fabric, node, used=self._used, is_gone=self.is_gone)

    @property
    def advice(self) -> str:
        """What would have helped, in words."""
        return advice(self._fabric)

    def replace(self, found: Replacement) -> dict[str, str]:
        """Take note that spares hold what others held, and of circuits; by place, the spare.

        Who has been replaced serves as a spare no more, whether it comes back or not.
        """
        self._fabric = replaced(self._fabric, found)
        by_holder = {holder: place for place, holder in self.holders.items()}
        taken = {by_holder.get(node, node): spare for node, spare in found.places.items()}
        self.holders |= taken
        self._used |= {*found.places, *found.places.values()}
        return taken

    def holder(self, node: str) -> str:
        """Who has the place of a node now."""
        return self.holders.get(node, node)

    def _holds(self, node: Node) -> bool:
        """Whether a node is a member in its own place, or an endpoint in that of one."""
        if node.kind.spare:
            return node.name in self.holders.values()
        return node.name in self._members and node.name not in self.holders
