# SPDX-License-Identifier: Apache-2.0
"""Fabric in memory that forwards by the entries of a plan, switch after switch, as the P4 programs do."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from controller import CPU_PORT, Plan, Update
from controller.forwarding.pipeline import Departure, DropReason, Frame, Pipeline, Tables
from topologies import HOST_PORT

__all__ = ["FakeFabric", "Frame", "Walk"]

MAX_SWITCHES = 32


@dataclass(frozen=True)
class Walk:
    """Nodes visited, VL of every link taken, and the end: host, controller, or why the frame was lost."""

    nodes: tuple[str, ...]
    vls: tuple[int, ...]
    end: str


# Tables of the plans that were used last: many tests begin with the same plan.
_RECENT: OrderedDict[int, tuple[Plan, dict[str, Tables]]] = OrderedDict()


def _tables(plan: Plan) -> dict[str, Tables]:
    """Return the tables of a plan's nodes; the caller copies what it changes."""
    if id(plan) not in _RECENT:
        _RECENT[id(plan)] = plan, {name: Tables(entries) for name, entries in plan.entries.items()}
        if len(_RECENT) > 4:
            _RECENT.popitem(last=False)
    return _RECENT[id(plan)][1]


class FakeFabric:
    """Pipelines of all switches of a plan's fabric, joined by its links."""

    def __init__(self, plan: Plan) -> None:
        self.fabric = plan.fabric
        self.dead: set[str] = set(plan.failed)
        hosted = {node.name for node in plan.fabric.endpoints}
        self.switches = {
            name: Pipeline(tables.copy(), has_host=name in hosted) for name, tables in _tables(plan).items()
        }

    def apply(self, node: str, updates: Iterable[Update]) -> None:
        """Write updates, as strictly as P4Runtime, to a node's tables."""
        for update in updates:
            self.switches[node].tables.write(update)

    def send(self, node: str, frame: Frame, *, by: int = HOST_PORT) -> Walk:
        """Send a frame from the node's host, or a routed packet-out when it comes by CPU_PORT."""
        return self._walk(node, self.switches[node].forward(frame, by))

    def packet_out(self, node: str, frame: Frame, egress_port: int) -> Walk:
        """Send a packet-out that names its port."""
        return self._walk(node, self.switches[node].depart(frame, CPU_PORT, egress_port))

    def _walk(self, node: str, step: Departure | DropReason) -> Walk:
        nodes: list[str] = [node]
        vls: list[int] = []

        def ended(end: str) -> Walk:
            return Walk(tuple(nodes), tuple(vls), end)

        while isinstance(step, Departure):
            port, frame = step.port, step.frame
            if port in (HOST_PORT, CPU_PORT):
                assert frame.route is None, f"{node} delivers a frame with its source route"
                return ended("host" if port == HOST_PORT else "controller")
            link = self.fabric.link_at(node, port)
            assert link is not None, f"{node} sends on port {port}, which has no link"
            vls.append(frame.vl)
            if link.name in self.dead:
                return ended("dead link")
            end = link.far(node)
            node = end.node
            nodes.append(node)
            if len(nodes) > MAX_SWITCHES:
                return ended("loop")
            step = self.switches[node].forward(frame, end.port)
        return ended(step.name.lower().replace("_", " "))
