# SPDX-License-Identifier: Apache-2.0
"""Lost nodes, their spares, and the plan with the spares as members.

64+1 (UB-Mesh, backup): the spare takes over the logical address of the failed NPU, so its senders continue
unchanged. Only the paths change: traffic that used the failed NPU's links climbs to the switches and descends
to the spare. No path crosses such a spare: it has links to switches only, and no route climbs after its
descent.

GPUs in domains (Rail-only, faults) are replaced in the same way, one GPU or a whole domain, and so are
switches. `topologies.transform.remedies` says which spares can replace a node, and by which circuits.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import final

from controller.garbage import garbage_collection_paused
from controller.paths.shares.weights import Demand
from controller.plan.diff import diff_nodes
from controller.plan.entry import Entry, Pair
from controller.plan.plan import Plan
from controller.plan.updates import Update
from controller.planner import make_plan
from controller.schemes.registry import scheme_of
from topologies import Fabric, Node
from topologies.transform.remedies import advice, remedies, serves, why_none
from topologies.transform.spares import Replacement, Side, cut_from, replaced

__all__ = ["SparePool", "links_of", "takeover"]


def links_of(fabric: Fabric, node: str) -> frozenset[str]:
    """Return the names of all links of a node."""
    ports = fabric.node(node).ports
    return frozenset(link.name for port in ports if (link := fabric.link_at(node, port.number)) is not None)


@garbage_collection_paused()
def takeover(
    plan: Plan,
    replacement: Replacement,
    *,
    down: Set[str] = frozenset(),
    peers: Iterable[Pair] | None = None,
    demand: Demand | None = None,
    installed: Mapping[str, Iterable[Entry]] | None = None,
    partial: bool = False,
) -> tuple[Plan, dict[str, Sequence[Update]]]:
    """Return the plan after spares have replaced nodes, and the updates of each node's tables.

    Nodes without any working link, or without a working link on a side that they need, are left out.

    Args:
        plan: The current plan.
        replacement: The spares, by the nodes that they replace.
        down: Failed links, in addition to the links of the replaced nodes.
        peers: Pairs to plan, named by the nodes that hold the addresses after the replacement; by default the
            planned pairs.
        demand: Bytes by pair, as for `make_plan`.
        installed: Current table entries by node; by default the entries of the plan.
        partial: Leave out pairs without a path.

    Raises:
        PlanError: A pair has no path, and the plan may not be `partial`.
    """
    fabric = replaced(plan.fabric, replacement)
    failed = {name for node in replacement.places for name in links_of(fabric, node)}
    failed_links = frozenset(link.name for link in fabric.links if link.name in down or link.name in failed)
    if peers is None:
        moved = {**replacement.places, **{spare: node for node, spare in replacement.places.items()}}
        peers = [
            (moved.get(source, source), moved.get(destination, destination))
            for source, destination in plan.routes
        ]
    alone = {
        node.name
        for node in fabric.nodes
        if links_of(fabric, node.name) <= failed_links or cut_from(fabric, node.name, failed_links)
    }
    one_way = [pair for pair in peers if alone.isdisjoint(pair)]
    wanted = {way for first, other in one_way for way in ((first, other), (other, first))}
    if partial:
        scheme = scheme_of(replace(plan, fabric=fabric), failed_links)
        apart = {pair for pair in wanted if not scheme.shortest_paths(*pair)}
        wanted -= apart | {(other, first) for first, other in apart}
    new = make_plan(
        fabric,
        scheme=plan.scheme,
        strategy=plan.strategy,
        rules=plan.rules,
        hashing=plan.hashing,
        demand=None if demand is None else {pair: demand[pair] for pair in demand if pair in wanted},
        peers=wanted,
        failed=failed_links,
        previous=plan,
    )
    before = plan.entries if installed is None else installed
    return new, diff_nodes(before, new.entries)


@final
class SparePool:
    """Finds lost nodes, by the port states of their neighbours, and free spares to replace them.

    An endpoint is lost when all its links are down, or all links to a side that it needs: its domain, or the
    network between domains. `holders` has the spare of each replaced node. `members` are the nodes whose loss
    matters, by default all possible members. The input of this state machine is port events; it has no clock.
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
        """The fabric with all replacements so far."""
        return self._fabric

    @property
    def down(self) -> frozenset[str]:
        """Links reported as down by at least one end."""
        links = (self._fabric.link_at(*end) for end in self._dark)
        return frozenset(link.name for link in links if link is not None)

    def on_port(self, node: str, port: int, up: bool) -> str | None:
        """Record the state of a port; return the node that is lost by this change, if any."""
        (self._dark.discard if up else self._dark.add)((node, port))
        destination = self._fabric.peer(node, port)
        if up or destination is None:
            return None
        if self.is_lost(destination.node):
            return destination.node
        return node if self.lost_side(node) and self.is_lost(node) else None

    def is_gone(self, node: str) -> bool:
        """Return whether the neighbours of a node have lost all links to it.

        For a switch, only the reports of neighbours that are not gone count. False for a node without links.
        """
        ends = [self._fabric.link(name).far(node) for name in links_of(self._fabric, node)]
        if self._fabric.node(node).is_switch:
            ends = [
                end for end in ends if self._fabric.node(end.node).is_switch or not self.is_gone(end.node)
            ]
        return bool(ends) and all((end.node, end.port) in self._dark for end in ends)

    def lost_side(self, node: str) -> Side | None:
        """Return the side, "domain" or "network", on which an endpoint has no working link, if any."""
        return cut_from(self._fabric, node, self.down)

    def is_lost(self, node: str) -> bool:
        """Return whether a member, or its spare, has failed or lacks a working link on a side."""
        if not self._holds(self._fabric.node(node)):
            return False
        return self.is_gone(node) or self.lost_side(node) is not None

    def lost_nodes(self) -> tuple[str, ...]:
        """Return all lost nodes without a replacement."""
        return tuple(node.name for node in self._fabric.nodes if self.is_lost(node.name))

    def find_replacement(self, node: str) -> Replacement | None:
        """Return the first replacement of a lost node with free, working and useful spares, if any."""
        down = self.down
        for replacement in remedies(
            self._fabric, node, holders=self.holders, down=down, is_gone=self.is_gone
        ):
            free = not any(
                spare in self._used or self.is_gone(spare) for spare in replacement.places.values()
            )
            if free and serves(self._fabric, node, replacement, down=down, is_gone=self.is_gone):
                return replacement
        return None

    def why_none(self, node: str) -> str:
        """Return a sentence on why nothing can replace a node."""
        return why_none(self._fabric, node, used=self._used, is_gone=self.is_gone)

    @property
    def advice(self) -> str:
        """Sentence for the user on how to get a spare."""
        return advice(self._fabric)

    def replace(self, replacement: Replacement) -> dict[str, str]:
        """Record a replacement, and return the spares by replaced member.

        A replaced node never serves as a spare, whether it returns or not.
        """
        self._fabric = replaced(self._fabric, replacement)
        by_holder = {holder: member for member, holder in self.holders.items()}
        taken = {by_holder.get(node, node): spare for node, spare in replacement.places.items()}
        self.holders |= taken
        self._used |= {*replacement.places, *replacement.places.values()}
        return taken

    def holder(self, node: str) -> str:
        """Return the node that now acts as a member: the member itself or its spare."""
        return self.holders.get(node, node)

    def _holds(self, node: Node) -> bool:
        """Return whether a node acts as a member: it is a member, or a spare for one."""
        if node.kind.spare:
            return node.name in self.holders.values()
        return node.name in self._members and node.name not in self.holders
