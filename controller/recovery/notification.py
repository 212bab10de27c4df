# SPDX-License-Identifier: Apache-2.0
"""Simulation of notification after link failures, with node controllers alone: a whole Pod takes seconds.

The node controllers are those of a run; there is no data traffic and no switch. Messages cross the fabric hop
by hop, by the tables at that moment, with the delays of links and processing. Times count from the failure.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import final

from controller.paths.finder import PathFinder
from controller.paths.shares.weights import apportion
from controller.paths.source_route import MAX_HOPS
from controller.plan.entry import Path, hops_of
from controller.plan.plan import Plan
from controller.recovery.messages import Mode, Notice, Outgoing, Reaction, Subscription
from controller.recovery.node_controller import NodeController
from controller.recovery.shared_schemes import SharedSchemes
from controller.schemes.registry import rule_set
from topologies import Fabric

__all__ = ["Delays", "Notification", "NotificationReport", "propagation_ps", "spread_over"]

# On a link: Ethernet, LPH, SRH, NTH and the notice.
_FRAME_BITS = 8 * (14 + 4 + 8 + 8 + 12)


@final
@dataclass(frozen=True, slots=True)
class Delays:
    """Delays of a node in ps: detection of a dead port, processing of a message, sending of a message.

    A `queued` node processes one message after the other, duplicates included. Otherwise, as in a run, a node
    processes all messages at the same time.
    """

    detect_ps: int = 0
    processing_ps: int = 0
    send_ps: int = 0
    queued: bool = False


@final
@dataclass(frozen=True, slots=True)
class NotificationReport:
    """Result of one failure; times in ps since the failure, 0 where nothing had to be written.

    Attributes:
        links: Failed links.
        informed: Nodes that know of the failure at the end, ends of the links included.
        sources: Number of sources that rewrote routes.
        notices: Notices sent.
        watches: Subscriptions sent.
        lost: Messages that did not arrive.
        first_ps: Time of the first table write.
        repaired_ps: Time of the last table write.
        stranded: Pairs that keep a path over a failed link.
        cut_off: Pairs without a path.
    """

    links: tuple[str, ...]
    informed: frozenset[str]
    sources: int
    notices: int
    watches: int
    lost: int
    first_ps: int
    repaired_ps: int
    stranded: int
    cut_off: int

    @property
    def messages(self) -> int:
        """Number of all messages."""
        return self.notices + self.watches


@final
class Notification:
    """Simulation of how nodes learn of link failures; each failure starts from the planned state.

    `mode` is as in NodeController; `delays` are the delays of every node.
    """

    def __init__(self, plan: Plan, mode: Mode, delays: Delays) -> None:
        self._plan = plan
        self._mode: Mode = mode
        self._delays = delays
        self._schemes = SharedSchemes(plan)

    def fail(self, links: Sequence[str], apart_ps: int = 0) -> NotificationReport:
        """Let links fail one after the other, `apart_ps` apart, and return the result."""
        return _Failure(self._plan, self._mode, self._delays, self._schemes).run(links, apart_ps)


@final
class _Failure:
    """One run of the event queue."""

    def __init__(self, plan: Plan, mode: Mode, delays: Delays, schemes: SharedSchemes) -> None:
        self._plan = plan
        self._fabric: Fabric = plan.fabric
        self._mode: Mode = mode
        self._delays = delays
        self._schemes = schemes
        self._controllers: dict[str, NodeController] = {}
        self._dead: set[str] = set()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._event_count = 0
        self._now = 0
        self._busy: dict[str, int] = {}  # by node, the time until which it is processing or sending
        self._sending: dict[tuple[str, str], int] = {}  # by hop, the time until which its link is sending
        self._written: list[int] = []
        self._sources: set[str] = set()
        self._notices = self._watches = self._lost = 0

    def run(self, links: Sequence[str], apart_ps: int) -> NotificationReport:
        for number, name in enumerate(links):
            self._at(number * apart_ps, lambda name=name: self._cut(name))
        while self._events:
            self._now, _, happens = heapq.heappop(self._events)
            happens()
        dead = frozenset(links)
        informed = [name for name, controller in self._controllers.items() if controller.down & dead]
        stranded, cut_off = self._left_over(dead)
        return NotificationReport(
            links=tuple(links),
            informed=frozenset(informed),
            sources=len(self._sources),
            notices=self._notices,
            watches=self._watches,
            lost=self._lost,
            first_ps=min(self._written, default=0),
            repaired_ps=max(self._written, default=0),
            stranded=stranded,
            cut_off=cut_off,
        )

    def _at(self, time_ps: int, happens: Callable[[], None]) -> None:
        self._event_count += 1
        heapq.heappush(self._events, (time_ps, self._event_count, happens))

    def _controller(self, node: str) -> NodeController:
        if node not in self._controllers:
            self._controllers[node] = NodeController(self._plan, node, self._mode, self._schemes)
        return self._controllers[node]

    def _cut(self, name: str) -> None:
        self._dead.add(name)
        link = self._fabric.link(name)
        for end in (link.a, link.b):
            self._at(
                self._now + self._delays.detect_ps,
                lambda end=end: self._act(
                    end.node, lambda: self._controller(end.node).on_port(end.port, False)
                ),
            )

    def _act(self, node: str, react: Callable[[], Reaction]) -> None:
        """Process a message; the processing ends with the table writes."""
        begins = max(self._now, self._busy.get(node, 0)) if self._delays.queued else self._now
        done = begins + self._delays.processing_ps
        self._busy[node] = done
        self._at(done, lambda: self._done(node, react()))

    def _done(self, node: str, reaction: Reaction) -> None:
        if reaction.updates:
            self._written.append(self._now)
            if any(update.entry.table == "all_path" for update in reaction.updates):
                self._sources.add(node)
        self._notices += len(reaction.notices)
        self._watches += len(reaction.subscriptions)
        leaves = max(self._now, self._busy.get(node, 0)) if self._delays.queued else self._now
        for outgoing in (*reaction.notices, *reaction.subscriptions):
            leaves += self._delays.send_ps
            self._at(leaves, lambda message=outgoing: self._send(node, message))
        self._busy[node] = max(self._busy.get(node, 0), leaves)

    def _send(self, node: str, outgoing: Outgoing) -> None:
        """Send a message by the ports that it names; without ports, by the route of any frame of the host."""
        route: Path = (node,)
        for port in outgoing.ports:
            peer = self._fabric.peer(route[-1], port)
            assert peer is not None
            route = (*route, peer.node)
        if not outgoing.ports:
            destination = self._fabric.node_of(outgoing.destination_cna)
            assert destination is not None
            route = self._controller(node).source_routed_path(destination.name) or route
        self._hop(outgoing, route, (node,))

    def _hop(self, outgoing: Outgoing, route: Path, path: Path) -> None:
        """Forward a message from the end of `path`: along the rest of the route, then by the tables."""
        node, hops = path[-1], len(path)
        neighbour = route[hops] if hops < len(route) else self._by_tables(node, outgoing)
        if neighbour is None or hops > MAX_HOPS or self._parted((node, neighbour), self._dead):
            self._lost += 1
            return
        link = self._fabric.link_between(node, neighbour)
        sent = max(self._now, self._sending.get((node, neighbour), 0)) + _FRAME_BITS * 10**12 // link.rate_bps
        self._sending[node, neighbour] = sent
        self._at(sent + link.delay_ps, lambda: self._arrive(outgoing, route, (*path, neighbour)))

    def _by_tables(self, node: str, outgoing: Outgoing) -> str | None:
        destination = self._fabric.node_of(outgoing.destination_cna)
        assert destination is not None
        return self._controller(node).next_hop(destination.name)

    def _arrive(self, outgoing: Outgoing, route: Path, path: Path) -> None:
        node = path[-1]
        if self._fabric.node(node).address != outgoing.destination_cna:
            self._hop(outgoing, route, path)
            return
        notice, controller = outgoing.message, self._controller(node)
        port = self._fabric.port_to(node, path[-2])
        if isinstance(notice, Notice):
            self._act(node, lambda: controller.on_notice(notice, port))
        else:
            assert isinstance(notice, Subscription)  # this model loses nothing and acknowledges nothing
            self._act(node, lambda: controller.on_subscription(notice))

    def _left_over(self, dead: frozenset[str]) -> tuple[int, int]:
        watching = {source for name in dead for source in self._plan.subscribers[name]}
        parted = {
            hop
            for link in map(self._fabric.link, dead)
            for hop in ((link.a.node, link.b.node), (link.b.node, link.a.node))
            if self._parted(hop, dead)
        }
        stranded = cut_off = 0
        for source in sorted(watching | self._controllers.keys()):
            controller = self._controller(source)
            for destination in self._plan.routes_from(source):
                paths = set(controller.routes(destination))
                cut_off += None in paths
                stranded += any(not parted.isdisjoint(hops_of(path)) for path in paths if path)
        return stranded, cut_off

    def _parted(self, hop: tuple[str, str], dead: Set[str]) -> bool:
        return all(link.name in dead for link in self._fabric.links_between(*hop))


def spread_over(plan: Plan, more_hops: int) -> Plan:
    """Return the plan with every source on all paths of up to `more_hops` above the fewest hops.

    Controllers use routes and subscribers: only these two change, and table entries stay as planned.
    """
    fabric, rules = plan.fabric, rule_set(plan.rules, plan.fabric)
    finder = PathFinder(fabric, plan.failed)
    routes: dict[tuple[str, str], tuple[Path, ...]] = {}
    watching: dict[str, dict[str, None]] = {link.name: {} for link in fabric.links}
    for (source, destination), (path, *_) in plan.routes.items():
        candidates = [
            candidate
            for hops in range(len(path) - 1, len(path) + more_hops)
            for candidate in finder.paths_of_length(source, destination, hops)
            if rules.vls_of(fabric, candidate) is not None
        ]
        turn = fabric.node(source).index + fabric.node(destination).index
        routes[source, destination] = apportion(candidates, [1.0] * len(candidates), turn)
        for hop in dict.fromkeys(hop for candidate in candidates for hop in hops_of(candidate)):
            for link in fabric.links_between(*hop):
                watching[link.name][source] = None
    subscribers = {link: tuple(sources) for link, sources in watching.items()}
    return replace(plan, routes=routes, subscribers=subscribers)


def propagation_ps(told: NotificationReport, delays: Delays) -> int:
    """Return the time from the first notice to the last repaired source, in ps.

    Detection and the reaction of the link's own ends are left out: every mode of notification has them.
    """
    return max(0, told.repaired_ps - delays.detect_ps - delays.processing_ps)
