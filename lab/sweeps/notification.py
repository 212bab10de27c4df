# SPDX-License-Identifier: Apache-2.0
"""What the controllers alone do when links fail: no data, no switches, so that a whole Pod takes seconds.

The node controllers are those of a run. Their messages cross the fabric hop by hop, by the tables as these
are at that moment, in the time that links and processing take; times are counted from the failure.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import final

from controller import Mode, NodeController, Notice, Outgoing, Plan, Reaction
from controller.deadlock.turn_rules import rule_set
from controller.plan import Path
from controller.recovery.node_controller import SharedRouters
from controller.routing.paths import PathFinder, hops_of
from controller.routing.source_route import MAX_HOPS
from controller.routing.weights import apportion
from topologies import Fabric

__all__ = ["Costs", "Notification", "Told", "bare_ps", "spread_over"]

# On a link: Ethernet, LPH, SRH, NTH and the notice.
_FRAME_BITS = 8 * (14 + 4 + 8 + 8 + 12)


@final
@dataclass(frozen=True, slots=True)
class Costs:
    """What a node takes, in ps: to notice a dead port, to act on a piece of news, to send a message.

    `queued`: a node does one thing after the other, and duplicates cost as much as news. Otherwise, as in a
    run, it does all at once.
    """

    detect_ps: int = 0
    processing_ps: int = 0
    send_ps: int = 0
    queued: bool = False


@final
@dataclass(frozen=True, slots=True)
class Told:
    """What came of one failure; times in ps since it, 0 where nothing had to be written.

    `informed` are the nodes that know in the end, the ends of the links among them; `sources` those that
    rewrote routes. `stranded` counts pairs that are left with a path over a dead link, `cut_off` those for
    which there is none; `lost` messages that did not arrive.
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
        return self.notices + self.watches


@final
class Notification:
    """Failures of one plan, each from the state that was planned."""

    def __init__(self, plan: Plan, mode: Mode, costs: Costs) -> None:
        self._plan = plan
        self._mode: Mode = mode
        self._costs = costs
        self._finders = SharedRouters(plan)

    def fail(self, links: Sequence[str], apart_ps: int = 0) -> Told:
        """These links fail one after the other, each `apart_ps` after the one before."""
        return _Failure(self._plan, self._mode, self._costs, self._finders).run(links, apart_ps)


@final
class _Failure:
    """One run of the event queue."""

    def __init__(self, plan: Plan, mode: Mode, costs: Costs, finders: SharedRouters) -> None:
        self._plan = plan
        self._fabric: Fabric = plan.fabric
        self._mode: Mode = mode
        self._costs = costs
        self._finders = finders
        self._controllers: dict[str, NodeController] = {}
        self._dead: set[str] = set()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._made = 0
        self._now = 0
        self._busy: dict[str, int] = {}  # by node, until when it does something else
        self._sending: dict[tuple[str, str], int] = {}  # by hop, until when its link sends
        self._written: list[int] = []
        self._sources: set[str] = set()
        self._notices = self._watches = self._lost = 0

    def run(self, links: Sequence[str], apart_ps: int) -> Told:
        for number, name in enumerate(links):
            self._at(number * apart_ps, lambda name=name: self._cut(name))
        while self._events:
            self._now, _, happens = heapq.heappop(self._events)
            happens()
        dead = frozenset(links)
        informed = [name for name, one in self._controllers.items() if one.down & dead]
        stranded, cut_off = self._left_over(dead)
        return Told(
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
        self._made += 1
        heapq.heappush(self._events, (time_ps, self._made, happens))

    def _controller(self, node: str) -> NodeController:
        if node not in self._controllers:
            self._controllers[node] = NodeController(self._plan, node, self._mode, self._finders)
        return self._controllers[node]

    def _cut(self, name: str) -> None:
        self._dead.add(name)
        link = self._fabric.link(name)
        for end in (link.a, link.b):
            self._at(
                self._now + self._costs.detect_ps,
                lambda end=end: self._act(
                    end.node, lambda: self._controller(end.node).on_port(end.port, False)
                ),
            )

    def _act(self, node: str, react: Callable[[], Reaction]) -> None:
        """A piece of news has come; its processing ends when the tables are written."""
        begins = max(self._now, self._busy.get(node, 0)) if self._costs.queued else self._now
        done = begins + self._costs.processing_ps
        self._busy[node] = done
        self._at(done, lambda: self._done(node, react()))

    def _done(self, node: str, reaction: Reaction) -> None:
        if reaction.updates:
            self._written.append(self._now)
            if any(update.entry.table == "all_path" for update in reaction.updates):
                self._sources.add(node)
        self._notices += len(reaction.notices)
        self._watches += len(reaction.subscriptions)
        leaves = max(self._now, self._busy.get(node, 0)) if self._costs.queued else self._now
        for outgoing in (*reaction.notices, *reaction.subscriptions):
            leaves += self._costs.send_ps
            self._at(leaves, lambda one=outgoing: self._send(node, one))
        self._busy[node] = max(self._busy.get(node, 0), leaves)

    def _send(self, node: str, outgoing: Outgoing) -> None:
        """By the ports it names, or as the switch would steer a frame of this node's own."""
        route: Path = (node,)
        for port in outgoing.ports:
            peer = self._fabric.peer(route[-1], port)
            assert peer is not None
            route = (*route, peer.node)
        if not outgoing.ports:
            far = self._fabric.node_of(outgoing.destination_cna)
            assert far is not None
            route = self._controller(node).source_routed_path(far.name) or route
        self._hop(outgoing, route, (node,))

    def _hop(self, outgoing: Outgoing, route: Path, path: Path) -> None:
        """On from the end of `path`: along the route while there is some left, then as the tables say."""
        node, hops = path[-1], len(path)
        far = route[hops] if hops < len(route) else self._by_tables(node, outgoing)
        if far is None or hops > MAX_HOPS or self._parted((node, far), self._dead):
            self._lost += 1
            return
        link = self._fabric.link_between(node, far)
        sent = max(self._now, self._sending.get((node, far), 0)) + _FRAME_BITS * 10**12 // link.rate_bps
        self._sending[node, far] = sent
        self._at(sent + link.delay_ps, lambda: self._arrive(outgoing, route, (*path, far)))

    def _by_tables(self, node: str, outgoing: Outgoing) -> str | None:
        far = self._fabric.node_of(outgoing.destination_cna)
        assert far is not None
        return self._controller(node).next_hop(far.name)

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
            self._act(node, lambda: controller.on_subscription(notice))

    def _left_over(self, dead: frozenset[str]) -> tuple[int, int]:
        near = {source for name in dead for source in self._plan.subscribers[name]}
        stranded = cut_off = 0
        for source in sorted(near | self._controllers.keys()):
            controller = self._controller(source)
            for destination in self._plan.routes_from(source):
                paths = set(controller.routes(destination))
                cut_off += None in paths
                stranded += any(self._crosses(path, dead) for path in paths if path)
        return stranded, cut_off

    def _crosses(self, path: Path, dead: frozenset[str]) -> bool:
        return any(self._parted(hop, dead) for hop in hops_of(path))

    def _parted(self, hop: tuple[str, str], dead: Set[str]) -> bool:
        return all(link.name in dead for link in self._fabric.links_between(*hop))


def spread_over(plan: Plan, more_hops: int) -> Plan:
    """The plan with every source on all paths of up to so many hops more than the fewest.

    For what the controllers do; its entries for sources are those of the plan.
    """
    fabric, rules = plan.fabric, rule_set(plan.rules, plan.fabric)
    finder = PathFinder(fabric, plan.failed)
    routes: dict[tuple[str, str], tuple[Path, ...]] = {}
    watching: dict[str, dict[str, None]] = {link.name: {} for link in fabric.links}
    for (source, destination), (path, *_) in plan.routes.items():
        found = [
            one
            for hops in range(len(path) - 1, len(path) + more_hops)
            for one in finder.paths_of_length(source, destination, hops)
            if rules.vls_of(fabric, one) is not None
        ]
        turn = fabric.node(source).index + fabric.node(destination).index
        routes[source, destination] = apportion(found, [1.0] * len(found), turn)
        for hop in dict.fromkeys(hop for one in found for hop in hops_of(one)):
            for link in fabric.links_between(*hop):
                watching[link.name][source] = None
    subscribers = {link: tuple(sources) for link, sources in watching.items()}
    return replace(plan, routes=routes, subscribers=subscribers)


def bare_ps(told: Told, costs: Costs) -> int:
    """Time from the first notice to the last repaired source.

    It leaves out what all ways of telling have in common: detection, and the reaction of the ends themselves.
    """
    return max(0, told.repaired_ps - costs.detect_ps - costs.processing_ps)
