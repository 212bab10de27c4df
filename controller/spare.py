# SPDX-License-Identifier: Apache-2.0
"""64+1: an NPU that is gone, the spare that takes its place, and the plan that makes it so (UB-Mesh, backup).

The spare takes over the logical address of the failed NPU, so whoever sends to it goes on as before. Only
ways change: what went by the failed NPU's links climbs to the switches and comes down at the spare. Nobody
forwards by way of a spare: it has links to switches only, and no route climbs again after its descent.
"""

from collections.abc import Iterable, Mapping, Set
from typing import final

from controller.diff import Update, diff
from controller.plan import Entry, Plan
from controller.planner import make_plan
from controller.weights import Demand, Pair
from topologies import Fabric, Node, NodeKind
from topologies.spare import spares_for, taken_over

__all__ = ["Standby", "links_of", "takeover"]


def links_of(fabric: Fabric, node: str) -> frozenset[str]:
    """Names of all links of a node."""
    ports = fabric.node(node).ports
    return frozenset(link.name for port in ports if (link := fabric.link_at(node, port.number)) is not None)


def takeover(
    plan: Plan,
    failed: str,
    spare: str,
    *,
    down: Set[str] = frozenset(),
    peers: Iterable[Pair] | None = None,
    demand: Demand | None = None,
    installed: Mapping[str, Iterable[Entry]] | None = None,
) -> tuple[Plan, dict[str, tuple[Update, ...]]]:
    """The plan in which `spare` has the place of `failed`, and the updates of each node's tables.

    `down` are links that have failed, those of the failed node beside them. `peers` are the pairs to plan
    for, by the nodes that then hold the addresses; those that were planned for unless given. Nodes that have
    no link left are left out. `demand` is as for `make_plan`. `installed` is what tables hold now, the plan's
    entries unless given. PlanError when a pair has no path.
    """
    fabric = taken_over(plan.fabric, failed, spare)
    gone = frozenset(down) | links_of(fabric, failed)
    if peers is None:
        moved = {failed: spare, spare: failed}
        peers = [(moved.get(source, source), moved.get(far, far)) for source, far in plan.routes]
    alone = {node.name for node in fabric.nodes if links_of(fabric, node.name) <= gone}
    wanted = [pair for pair in peers if alone.isdisjoint(pair)]
    new = make_plan(
        fabric,
        strategy=plan.strategy,
        rules=plan.rules,
        demand=None if demand is None else {pair: demand[pair] for pair in demand if alone.isdisjoint(pair)},
        peers=wanted,
        failed=gone,
    )
    before = plan.entries if installed is None else installed
    return new, {name: diff(before[name], entries) for name, entries in new.entries.items()}


@final
class Standby:
    """Which nodes are gone, by what their neighbours say of their links, and which spares are left.

    `holders` gives, for every NPU that has been replaced, the spare that holds its address now. A state
    machine without clock: it is told of ports.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._dark: set[tuple[str, int]] = set()
        self._links = {node.name: links_of(fabric, node.name) for node in fabric.nodes if not node.tier}
        self.holders: dict[str, str] = {}
        self._used: set[str] = set()

    @property
    def down(self) -> frozenset[str]:
        """Links of which one end says that they are down."""
        links = (self._fabric.link_at(*end) for end in self._dark)
        return frozenset(link.name for link in links if link is not None)

    def on_port(self, node: str, port: int, up: bool) -> str | None:
        """A port was found to be up or down: the NPU, or the spare in its place, that is gone by that."""
        (self._dark.discard if up else self._dark.add)((node, port))
        far = self._fabric.peer(node, port)
        if up or far is None or not self._holds(self._fabric.node(far.node)):
            return None
        return far.node if self.is_gone(far.node) else None

    def is_gone(self, node: str) -> bool:
        """Whether the neighbours of an endpoint have lost all links to it."""
        ends = [self._fabric.link(name).far(node) for name in self._links[node]]
        return all((end.node, end.port) in self._dark for end in ends)

    def gone(self) -> tuple[str, ...]:
        """NPUs, and spares in the place of one, that are gone and have not been replaced."""
        held = [node.name for node in self._fabric.nodes if not node.tier and self._holds(node)]
        return tuple(name for name in held if self.is_gone(name))

    def spare_for(self, node: str) -> str | None:
        """The first spare of the node's rack that is there and not used; None when there is none."""
        spares = spares_for(self._fabric, node)
        return next((one for one in spares if one not in self._used and not self.is_gone(one)), None)

    def why_none(self, node: str) -> str:
        """Why there is no spare for a node, in words."""
        spares = spares_for(self._fabric, node)
        if not spares:
            return "its rack has no spare NPU"
        states = (f"{name} is {'used already' if name in self._used else 'gone'}" for name in spares)
        return " and ".join(states)

    def replace(self, node: str, spare: str) -> str:
        """Take note that a spare holds what `node` held; the NPU whose place that is."""
        place = next((npu for npu, holder in self.holders.items() if holder == node), node)
        self.holders[place] = spare
        self._used.add(spare)
        return place

    def holder(self, node: str) -> str:
        """Who has the place of an NPU now."""
        return self.holders.get(node, node)

    def _holds(self, node: Node) -> bool:
        """Whether a node is an NPU in its own place, or a spare in that of one."""
        if node.kind is NodeKind.SPARE:
            return node.name in self.holders.values()
        return node.kind is NodeKind.NPU and node.name not in self.holders
