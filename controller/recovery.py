# SPDX-License-Identifier: Apache-2.0
"""What one node changes in its own tables, and whom it tells, when a link fails or returns.

A state machine without clock or socket: its driver feeds it port events and the notices that arrive,
applies the updates it returns and then sends the notices. Two ways of telling (UB-Mesh, fault recovery):

    direct    each end of the link tells the sources whose candidate paths use it
    flooding  each end tells its neighbours, and whoever hears something new tells its own

In direct mode a source hears of the links of its candidates only (`Plan.watchers`). That covers any one
failure; a source that failures have driven onto a path beyond its candidates hears of no further one there.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, final, get_args

from controller.all_path import Router, all_path_entries
from controller.diff import Update, diff
from controller.errors import PlanError
from controller.linear import linear_entries
from controller.paths import PathFinder, hops_of
from controller.plan import Entry, Path, Plan
from controller.turn_rules import rule_set
from topologies import Fabric, Link

__all__ = ["Finders", "Mode", "NodeController", "Notice", "Outgoing", "Reaction"]

Mode = Literal["direct", "flooding"]

# Sequence numbers have 16 bits and wrap: a number is newer than those of the half circle before it.
_SEQUENCES = 1 << 16

_FINDERS = 64


@final
@dataclass(frozen=True, slots=True)
class Notice:
    """News of one link, named by address and port of its ends; `origin` is the address of who saw it.

    Both ends number a link's changes of state alike, so the notices of one change are equal but for their
    origin.
    """

    cna_a: int
    port_a: int
    cna_b: int
    port_b: int
    up: bool
    sequence: int
    origin: int


@final
@dataclass(frozen=True, slots=True)
class Outgoing:
    """A notice to send: by this node's routes when `egress_port` is None, else straight out of that port."""

    notice: Notice
    destination_cna: int
    egress_port: int | None


@final
@dataclass(frozen=True, slots=True)
class Reaction:
    """Updates of this node's tables, to be applied before the notices are sent."""

    updates: tuple[Update, ...] = ()
    notices: tuple[Outgoing, ...] = ()


@final
class Finders:
    """Path finders by what has failed, for the nodes of one fabric: most know of the same failures."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._last: dict[frozenset[str], PathFinder] = {}

    def without(self, failed: Set[str]) -> PathFinder:
        """A finder over the links that have not failed."""
        key = frozenset(failed)
        if key not in self._last:
            if len(self._last) >= _FINDERS:
                self._last.clear()
            self._last[key] = PathFinder(self._fabric, key)
        return self._last[key]


@final
class NodeController:
    """The part of the controller that runs beside one switch. Those of a fabric may share `finders`."""

    def __init__(
        self, plan: Plan, node: str, mode: Mode = "direct", finders: "Finders | None" = None
    ) -> None:
        if mode not in get_args(Mode):
            raise PlanError(f"no notification mode {mode!r}", remedy=f"there are {', '.join(get_args(Mode))}")
        self.node = node
        self.mode: Mode = mode
        self.ignored = 0  # notices that were not new, or named no link of this fabric
        self._plan = plan
        self._address = plan.fabric.node(node).address
        self._rules = rule_set(plan.rules, plan.fabric)
        self._down = set(plan.failed)
        self._sequence: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._finders = finders or Finders(plan.fabric)
        self._planned = plan.routes_from(node)
        self._by_link: Mapping[str, Sequence[str]] | None = None
        self._replaced: dict[str, tuple[Path | None, ...]] = {}
        self._linear = tuple(entry for entry in plan.entries[node] if entry.table == "linear")

    @property
    def down(self) -> frozenset[str]:
        """Names of the links this node knows to be down."""
        return frozenset(self._down)

    def routes(self, destination: str) -> tuple[Path | None, ...]:
        """The paths of the 16 buckets towards a destination as they are now; None where there is none."""
        return self._replaced.get(destination) or self._planned[destination]

    def on_port(self, port: int, up: bool) -> Reaction:
        """The carrier of one of this node's own ports came or went."""
        link = self._plan.fabric.link_at(self.node, port)
        if link is None:
            raise PlanError(f"{self.node}: no link on port {port}", remedy="report ports that have a link")
        updates: tuple[Update, ...] = ()
        if up == (link.name in self._down):
            self._sequence[link.name] = (self._sequence.get(link.name, 0) + 1) % _SEQUENCES
            updates = self._change(link, up)
        sequence = self._sequence.get(link.name, 0)
        if self._told.get(link.name, 0) == sequence:
            return Reaction(updates)
        self._told[link.name] = sequence
        notice = Notice(
            cna_a=self._cna(link.a.node),
            port_a=link.a.port,
            cna_b=self._cna(link.b.node),
            port_b=link.b.port,
            up=up,
            sequence=sequence,
            origin=self._address,
        )
        if self.mode == "flooding":
            return Reaction(updates, self._to_neighbours(notice, but=port))
        return Reaction(updates, self._to_watchers(notice, link))

    def on_notice(self, notice: Notice, ingress_port: int) -> Reaction:
        """A notice arrived by a port. One no newer than the last known of its link is ignored."""
        link = self._link(notice)
        if link is None or not _newer(notice.sequence, self._sequence.get(link.name, 0)):
            self.ignored += 1
            return Reaction()
        self._sequence[link.name] = notice.sequence
        updates = self._change(link, notice.up) if notice.up == (link.name in self._down) else ()
        if self.mode == "flooding":
            return Reaction(updates, self._to_neighbours(notice, but=ingress_port))
        return Reaction(updates)

    def _change(self, link: Link, up: bool) -> tuple[Update, ...]:
        """Takes note of a link's new state; updates for every destination that it concerns."""
        (self._down.discard if up else self._down.add)(link.name)
        fabric = self._plan.fabric
        finder = self._finders.without(self._down)
        router = Router(finder, self._rules, self._plan.strategy)
        concerned = dict.fromkeys([*self._destinations(link.name), *self._replaced])
        before = {far: self.routes(far) for far in concerned}
        for far in concerned:
            planned = self._planned[far]
            routes = router.reroute(planned)
            if routes == planned:
                self._replaced.pop(far, None)
            else:
                self._replaced[far] = routes
        after = {far: self.routes(far) for far in concerned}
        linear = tuple(entry for entry in linear_entries(finder, self.node) if entry.table == "linear")
        old: tuple[Entry, ...] = (*self._linear, *all_path_entries(fabric, self.node, before))
        new: tuple[Entry, ...] = (*linear, *all_path_entries(fabric, self.node, after))
        self._linear = linear
        return diff(old, new)

    def _destinations(self, link: str) -> Sequence[str]:
        """The destinations to which this node's planned paths use a link."""
        if self._by_link is None:  # most nodes of a large fabric never hear of a failure
            found: dict[str, dict[str, None]] = {}
            for far, paths in self._planned.items():
                for path in dict.fromkeys(paths):
                    for hop in hops_of(path):
                        found.setdefault(self._plan.fabric.link_between(*hop).name, {})[far] = None
            self._by_link = {name: tuple(destinations) for name, destinations in found.items()}
        return self._by_link.get(link, ())

    def _to_watchers(self, notice: Notice, link: Link) -> tuple[Outgoing, ...]:
        watchers = self._plan.watchers[link.name]
        return tuple(Outgoing(notice, self._cna(name), None) for name in watchers if name != self.node)

    def _to_neighbours(self, notice: Notice, *, but: int) -> tuple[Outgoing, ...]:
        fabric = self._plan.fabric
        found: list[Outgoing] = []
        for far in fabric.neighbours(self.node):
            port = fabric.port_to(self.node, far)
            if port != but and fabric.link_between(self.node, far).name not in self._down:
                found.append(Outgoing(notice, self._cna(far), port))
        return tuple(found)

    def _link(self, notice: Notice) -> Link | None:
        fabric = self._plan.fabric
        a, b = fabric.node_of(notice.cna_a), fabric.node_of(notice.cna_b)
        link = fabric.link_at(a.name, notice.port_a) if a else None
        if link is None or a is None or b is None:
            return None
        far = link.far(a.name)
        return link if (far.node, far.port) == (b.name, notice.port_b) else None

    def _cna(self, node: str) -> int:
        return self._plan.fabric.node(node).address


def _newer(sequence: int, known: int) -> bool:
    return 0 < (sequence - known) % _SEQUENCES < _SEQUENCES // 2
