# SPDX-License-Identifier: Apache-2.0
"""Reaction of one node to a failed or returned link: updates of its tables, and notices to other nodes.

A state machine without clock or socket: its driver passes port events and received messages in, applies the
updates that it returns and then sends its messages. There are two modes (UB-Mesh, fault recovery):

    direct    Each end of the link notifies the sources whose candidate paths use the link.
    flooding  Each end notifies its neighbours. A node that learns something new notifies its own neighbours.

Where the tables of every node depend on every link, direct mode notifies all nodes, each once
(controller.recovery.announcements), and floods if source routes are too short for that.

In direct mode a source is notified of the links of its candidate paths (`Plan.subscribers`). After a failure
a node may use a link that is on none of its candidate paths. The node then subscribes at both ends of that
link; an end answers at once if the link is already down. Subscriptions are a derivation of this project: the
paper does not describe a second failure.

The forwarding scheme chooses the paths that replace a failed path (`Scheme.repair`). An agent that gets no
acknowledgement over a path asks its own node for another path (`on_repath`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final, get_args

from controller.errors import PlanError
from controller.forwarding.next_hop import next_hop
from controller.paths.shares.repathing import repath
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.diff import diff
from controller.plan.entry import BUCKETS, Entry, Path, hops_of
from controller.plan.plan import Plan
from controller.recovery.announcements import Announcements
from controller.recovery.messages import (
    SEQUENCES,
    Mode,
    Notice,
    Outgoing,
    Reaction,
    Subscription,
    ends_of,
    is_newer,
    link_of,
)
from controller.recovery.shared_schemes import SharedSchemes
from controller.schemes.scheme import Scheme
from controller.tables.address_entries import ADDRESS_TABLES
from topologies import Link

__all__ = ["NodeController"]


@final
class NodeController:
    """The controller of one node: reacts to port changes and messages with table updates and messages.

    `mode`: notices go directly to sources, or are flooded. The controllers of a fabric may share `schemes`.

    `sequences` are the sequence numbers known under a previous plan, from `latest_sequences`. They let the
    controller recognise old notices; failures with such a number count as announced.
    """

    def __init__(
        self,
        plan: Plan,
        node: str,
        mode: Mode = "direct",
        schemes: SharedSchemes | None = None,
        sequences: Mapping[str, int] | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise PlanError(
                f"the notification mode {mode!r} does not exist",
                remedy=f"use one of {', '.join(get_args(Mode))}",
            )
        self.node = node
        self.mode: Mode = mode
        self.ignored = 0  # messages that are old, or name no link of this fabric or node
        self._plan = plan
        self._address = plan.fabric.node(node).address
        self._down = set(plan.failed)
        self._sequence: dict[str, int] = dict(sequences or {})
        self._announced: dict[str, int] = dict(sequences or {})
        self._schemes = schemes or SharedSchemes(plan)
        self._planned = plan.routes_from(node)
        self._replaced: dict[str, tuple[Path | None, ...]] = {}
        # By destination, paths that the agent has reported as silent.
        self._silent: dict[str, set[Path]] = {}
        self._table_entries: tuple[Entry, ...] | None = None  # None: the planned entries
        self._announcements = Announcements(self._schemes, node, self._sequence)
        # Links whose failures this node is notified of, by the plan or by its own subscription.
        self._subscribed: set[str] = set()
        # By link of this node: nodes that have subscribed in addition to the planned subscribers.
        self._subscribers: dict[str, dict[str, None]] = {}

    @property
    def down(self) -> frozenset[str]:
        """Names of the failed links known to this node."""
        return frozenset(self._down)

    @property
    def sequences(self) -> Mapping[str, int]:
        """The last known sequence number of every link that has ever changed."""
        return self._sequence

    @property
    def _scheme(self) -> Scheme:
        """Forwarding without the failed links known to this node."""
        return self._schemes.without(self._down)

    def routes(self, destination: str) -> tuple[Path | None, ...]:
        """Return the current paths of the 16 buckets to a destination; None where no path works."""
        return self._replaced.get(destination) or self._planned[destination]

    def source_routed_path(self, destination: str) -> Path | None:
        """Return the source-routed path of bucket 0 to a destination; None if the tables lead its frames."""
        return self.routes(destination)[0] if destination in self._planned else None

    def next_hop(self, destination: str) -> str | None:
        """Return the next hop of a frame by the tables; None if the tables drop the frame."""
        return next_hop(self._scheme, self.node, destination)

    def on_port(self, port: int, up: bool) -> Reaction:
        """Handle a change of the carrier of one of this node's ports."""
        link = self._plan.fabric.link_at(self.node, port)
        if link is None:
            raise PlanError(f"{self.node} has no link on port {port}", remedy="report ports that have a link")
        changed = Reaction()
        if up == (link.name in self._down):
            self._sequence[link.name] = (self._sequence.get(link.name, 0) + 1) % SEQUENCES
            changed = self._apply_change(link, up)
        sequence = self._sequence.get(link.name, 0)
        if self._announced.get(link.name, 0) == sequence:
            return changed
        self._announced[link.name] = sequence
        notice = self._notice(link)
        if self._floods(link):
            return replace(changed, notices=self._to_neighbours(notice, but=port))
        if self._scheme.tells_everybody:
            return replace(changed, notices=self._to_everybody())
        return replace(changed, notices=self._to_subscribers(notice, link))

    def on_notice(self, notice: Notice, ingress_port: int) -> Reaction:
        """Handle the arrival of a notice at a port; ignore a notice not newer than the known state."""
        link = link_of(self._plan.fabric, notice)
        if link is None or not is_newer(notice.sequence, self._sequence.get(link.name, 0)):
            self.ignored += 1
            return Reaction()
        self._sequence[link.name] = notice.sequence
        changed = (
            self._apply_change(link, notice.up) if notice.up == (link.name in self._down) else Reaction()
        )
        if self._floods(link):
            return replace(changed, notices=self._to_neighbours(notice, but=ingress_port))
        if self._scheme.tells_everybody:
            return replace(changed, notices=self._to_everybody())
        onward = self._scheme.notified_by(self.node, link, self._plan.subscribers[link.name])
        return replace(changed, notices=self._sent(self._notice(link), ((name, None) for name in onward)))

    def on_subscription(self, watch: Subscription) -> Reaction:
        """Handle a subscription to a link of this node; answer at once if the link is down."""
        link, origin = link_of(self._plan.fabric, watch), self._plan.fabric.node_of(watch.origin)
        if link is None or origin is None or self.node not in (link.a.node, link.b.node):
            self.ignored += 1
            return Reaction()
        self._subscribers.setdefault(link.name, {})[origin.name] = None
        if link.name not in self._down:
            return Reaction()
        return Reaction(
            notices=self._sent(self._notice(link), self._scheme.plain_paths(self.node, [origin.name]))
        )

    def on_repath(self, cna: int, buckets: Iterable[int]) -> Reaction:
        """Choose other paths for buckets of a destination over which this node's agent gets no answer.

        When no permitted path has brought an answer, all paths but those just reported are tried again.
        """
        node = self._plan.fabric.node_of(cna)
        if node is None or node.name not in self._planned:
            self.ignored += 1
            return Reaction()
        destination = node.name
        before = self.routes(destination)
        reported = {path for bucket in buckets if (path := before[bucket])}
        silent = self._silent.setdefault(destination, set())
        silent |= reported
        scheme = self._scheme
        after = repath(scheme, before, silent)
        if after == before:
            silent &= reported
            after = repath(scheme, before, silent)
        self._replaced[destination] = after
        old, new = (scheme.source_routes(self.node, {destination: routes}) for routes in (before, after))
        moved = frozenset(bucket for bucket, path in enumerate(after) if path != before[bucket])
        return Reaction(diff(old, new), subscriptions=self._subscribe([after]), lost={cna: moved})

    def _floods(self, link: Link) -> bool:
        """Return whether notices of a link are flooded from neighbour to neighbour.

        Direct mode floods too if every node must know of each failure and source routes cannot reach all.
        """
        if self.mode == "flooding":
            return True
        return self._scheme.tells_everybody and not self._schemes.within_reach(link.name)

    def _apply_change(self, link: Link, up: bool) -> Reaction:
        """Record a link's new state, and return the updates for all affected destinations."""
        earlier = self._scheme
        (self._down.discard if up else self._down.add)(link.name)
        scheme = self._scheme
        concerned = dict.fromkeys([*self._schemes.destinations_over(self.node, link.name), *self._replaced])
        before = {destination: self.routes(destination) for destination in concerned}
        for destination in concerned:
            planned = self._planned[destination]
            routes = self._routes_over(scheme, destination)
            if routes == planned:
                self._replaced.pop(destination, None)
            else:
                self._replaced[destination] = routes
        after = {destination: self.routes(destination) for destination in concerned}
        old = earlier.source_routes(self.node, before)
        new = scheme.source_routes(self.node, after)
        if scheme.depends_on(self.node, link):
            entries = scheme.address_entries(self.node)
            old, new = (*self._current_table_entries(), *old), (*entries, *new)
            self._table_entries = entries
        updates = diff(old, new)
        if up:
            return Reaction(updates)
        lost = self._lost_buckets(link, before, after) if updates else {}
        return Reaction(updates, subscriptions=self._subscribe(after.values()), lost=lost)

    def _routes_over(self, scheme: Scheme, destination: str) -> tuple[Path | None, ...]:
        """Return the paths to a destination over working links: planned paths as far as possible.

        Silent paths stay out of use; the paths that have replaced them stay in use.
        """
        silent = self._silent.get(destination, ())
        present = [path for path in self.routes(destination) if path] if silent else []
        routes = scheme.repair(
            present if len(present) == BUCKETS else self._planned[destination], lambda: self._schemes.load
        )
        return repath(scheme, routes, silent)

    def _lost_buckets(
        self,
        link: Link,
        before: Mapping[str, Sequence[Path | None]],
        after: Mapping[str, Sequence[Path | None]],
    ) -> dict[int, frozenset[int]]:
        """Return the buckets that a failed link has moved to another route, by destination CNA."""
        ends = {link.a.node, link.b.node}
        lost: dict[int, frozenset[int]] = {}
        for destination, paths in before.items():
            moved = [
                bucket
                for bucket, (old, new) in enumerate(zip(paths, after[destination], strict=True))
                if old and new and old != new and any(ends == {*hop} for hop in hops_of(old))
            ]
            if moved:
                lost[self._cna(destination)] = frozenset(moved)
        return lost

    def _current_table_entries(self) -> tuple[Entry, ...]:
        if self._table_entries is None:
            entries = self._plan.entries[self.node]
            self._table_entries = tuple(entry for entry in entries if entry.table in ADDRESS_TABLES)
        return self._table_entries

    def _subscribe(self, moved: Iterable[Sequence[Path | None]]) -> tuple[Outgoing, ...]:
        """Subscribe at the ends of newly used links, unless the plan already subscribes this node."""
        if self.mode == "flooding" or self._scheme.tells_everybody:
            return ()
        paths = dict.fromkeys(path for routes in moved for path in routes if path)
        for path in dict.fromkeys(self._table_detours()):
            paths[path] = None
        messages: list[Outgoing] = []
        for path in paths:
            for last, hop in enumerate(hops_of(path)):
                for link in self._plan.fabric.links_between(*hop) if last else ():
                    if link.name in self._subscribed:
                        continue
                    self._subscribed.add(link.name)
                    if self._plan.notifies(self.node, link.name):
                        continue
                    watch = Subscription(*ends_of(self._plan.fabric, link), self._address)
                    ends = [path[: end + 1] for end in (last, last + 1) if end <= MAX_INSTRUCTIONS]
                    messages += [self._send_along(watch, way) for way in ends]
        return tuple(messages)

    def _table_detours(self) -> Iterator[Path]:
        """Yield the paths by which this node's tables detour around its own failed links."""
        fabric, scheme = self._plan.fabric, self._scheme
        for name in sorted(self._down):
            link = fabric.link(name)
            if link.dimension is None or self.node not in (link.a.node, link.b.node):
                continue
            neighbour = link.far(self.node).node
            field = fabric.address_plan.fields[-1 - link.dimension].name
            shift, mask = fabric.address_plan.shift(field), fabric.address_plan.mask(field)
            if (self._cna(neighbour) ^ self._address) & ~(mask << shift):
                continue  # the neighbour has taken over an address outside this line
            for segment in scheme.segments(self.node):
                if (segment.shift, segment.mask) == (shift, mask):
                    middle = segment.next_hops[self._cna(neighbour) >> shift & mask]
                    if isinstance(middle, str) and scheme.finder.has_link(middle, neighbour):
                        yield (self.node, middle, neighbour)

    def _send_along(self, message: Notice | Subscription, path: Path) -> Outgoing:
        """Return a message with a source route along a path; tables forward it after the sixth hop."""
        finder = self._scheme.finder
        ports = tuple(finder.port_to(*hop) for hop in hops_of(path[: MAX_INSTRUCTIONS + 1]))
        return Outgoing(message, self._cna(path[-1]), ports)

    def _notice(self, link: Link) -> Notice:
        return Notice(
            *ends_of(self._plan.fabric, link),
            up=link.name not in self._down,
            sequence=self._sequence.get(link.name, 0),
            origin=self._address,
        )

    def _to_subscribers(self, notice: Notice, link: Link) -> tuple[Outgoing, ...]:
        scheme, subscribers = self._scheme, self._plan.subscribers[link.name]
        asking = dict.fromkeys([*self._subscribers.get(link.name, ()), *scheme.dependents(self.node, link)])
        return self._sent(notice, scheme.notice_paths(self.node, subscribers, list(asking)))

    def _to_everybody(self) -> tuple[Outgoing, ...]:
        """Return the notices to send now; for schemes that tell every node of each failure."""
        due = self._announcements.due(self._sequence, self._down)
        return tuple(self._send_along(self._notice(link), path) for link, path in due)

    def _sent(self, notice: Notice, paths: Iterable[tuple[str, Path | None]]) -> tuple[Outgoing, ...]:
        """Return the messages carrying a notice to several nodes.

        Args:
            notice: notice to send.
            paths: name of each receiver, and the path of its message. If the path is None, the tables of this
                node forward the message.
        """
        return tuple(
            Outgoing(notice, self._cna(name)) if path is None else self._send_along(notice, path)
            for name, path in paths
        )

    def _to_neighbours(self, notice: Notice, *, but: int) -> tuple[Outgoing, ...]:
        fabric = self._plan.fabric
        messages = [
            self._send_along(notice, (self.node, neighbour)) for neighbour in fabric.neighbours(self.node)
        ]
        links = {message: fabric.link_at(self.node, message.ports[0]) for message in messages}
        return tuple(
            message
            for message, link in links.items()
            if message.ports != (but,) and link and link.name not in self._down
        )

    def _cna(self, node: str) -> int:
        return self._plan.fabric.node(node).address
