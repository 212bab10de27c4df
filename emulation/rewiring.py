# SPDX-License-Identifier: Apache-2.0
"""Circuits that move under running jobs (LumosCore): routes leave them, they go dark, routes come back.

What is on its way over a circuit when its routes are taken away is given time to leave it. What stays joined
is not touched, and its routes change only where they lead on to what moves.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final

from controller.diff import Update
from controller.errors import PlanError
from controller.plan import Entry, Plan
from controller.rewire import Crossconnects, replanned, staying
from controller.weights import Demand
from topologies import Fabric
from topologies.optical import with_maps

__all__ = ["Rewired", "RewiringPolicy", "Rewirings"]

Port = tuple[str, int]

# Tables that say by which ports frames may come and go, and not which way.
_TURNS = ("arrival", "departure", "vl_turn")

# Ends of new circuits that do not see light within this many times of noticing it are not waited for.
_PATIENCE = 10


@final
@dataclass(frozen=True, slots=True)
class Rewired:
    """A change of circuits from `at_ps` to `stands_ps`, when routes used the new ones; names of links.

    `before` and `after` are all circuits that stood. `hitless`: there was a way around what moved.
    """

    at_ps: int
    stands_ps: int
    kept: tuple[str, ...]
    torn: tuple[str, ...]
    made: tuple[str, ...]
    before: Fabric
    after: Fabric
    hitless: bool
    updates: int

    def document(self) -> dict[str, Any]:
        """For a file."""
        return {
            "at_us": self.at_ps / 10**6,
            "stands_us": self.stands_ps / 10**6,
            "kept": list(self.kept),
            "torn": list(self.torn),
            "made": list(self.made),
            "hitless": self.hitless,
            "updates": self.updates,
        }


@final
@dataclass(frozen=True, slots=True)
class RewiringPolicy:
    """What is on its way to a spine, and then over a circuit, has half of `drain_ps` each to leave it.

    `demand` is asked for at each change: bytes by pairs, and these alone are planned for. `known`: shares of
    paths follow it.
    """

    drain_ps: int
    demand: Callable[[], Demand]
    known: bool = True


class _Floor(Protocol):
    """What rewirings ask of the loop that runs them."""

    plan: Plan

    @property
    def now_ps(self) -> int: ...
    @property
    def down(self) -> frozenset[str]: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def installed(self) -> Mapping[str, tuple[Entry, ...]]: ...
    def adopt(self, plan: Plan, updates: Mapping[str, tuple[Update, ...]]) -> None: ...
    def write(self, updates: Mapping[str, tuple[Update, ...]]) -> None: ...
    def turn(self, circuits: Crossconnects) -> int: ...


@final
@dataclass(slots=True)
class _Change:
    """One that is under way; `waits_for` are ends of new circuits that are still dark."""

    begun_ps: int
    before: Fabric
    target: Fabric
    circuits: Crossconnects
    demand: Demand
    then: Callable[[], None]
    hitless: bool
    updates: int
    ports: frozenset[Port]
    waits_for: set[Port]


@final
class Rewirings:
    """Changes circuits, one change after the other."""

    def __init__(self, floor: _Floor, policy: RewiringPolicy, *, detect_ps: int, processing_ps: int) -> None:
        self._floor = floor
        self._policy = policy
        self._processing_ps = processing_ps
        self._patience_ps = max(1, _PATIENCE * (detect_ps + processing_ps))
        self._now: _Change | None = None
        self._next: deque[tuple[Callable[[Fabric], Crossconnects], Callable[[], None]]] = deque()
        self.done: list[Rewired] = []

    def turns(self, node: str, port: int) -> bool:
        """Whether a circuit at that port comes or goes just now: not to be routed around."""
        return self._now is not None and (node, port) in self._now.ports

    def begin(self, choose: Callable[[Fabric], Crossconnects], then: Callable[[], None]) -> None:
        """Have optical switches join what `choose` makes of the fabric, and call `then` when that is done.

        PlanError when the new circuits leave a pair without a path; nothing has changed then.
        """
        self._next.append((choose, then))
        self._go_on()

    def _go_on(self) -> None:
        while self._next and self._now is None:
            self._begin(*self._next.popleft())

    def _begin(self, choose: Callable[[Fabric], Crossconnects], then: Callable[[], None]) -> None:
        fabric = self._floor.plan.fabric
        circuits = choose(fabric)
        target = with_maps(fabric, circuits)
        stay = staying(fabric, circuits)
        comes, goes = _ends(target, stay), _ends(fabric, stay)
        demand = self._policy.demand()
        # Before anything is touched: whether there will be a way for all.
        final, missing = self._replanned(target, demand)
        if not comes and not goes:
            self._floor.adopt(final, missing)  # who has just come may have had no routes
            then()
            return
        updates, hitless, higher = 0, True, {}
        try:
            # Who has just come sends nothing before the new circuits carry.
            running = {pair: amount for pair, amount in demand.items() if pair in self._floor.plan.routes}
            drained, written = self._replanned(stay, running)
        except PlanError:
            hitless = False  # what has no other way waits for its circuits, and sends again what was lost
        else:
            # What is under way still comes in by circuits that go: where from, tables know until the end.
            written = {node: _ways(some) for node, some in written.items()}
            # First those below stop sending to spines that will have no way; then these, when none comes.
            higher = {node: some for node, some in written.items() if fabric.node(node).level > 1}
            self._floor.adopt(drained, {node: some for node, some in written.items() if node not in higher})
            updates = sum(map(len, written.values()))
        now = self._floor.now_ps
        change = self._now = _Change(
            now, fabric, target, circuits, demand, then, hitless, updates, comes | goes, set(comes)
        )
        drain_ps = self._policy.drain_ps if hitless else 0
        self._floor.at(now + drain_ps // 2, lambda: self._floor.write(higher))
        self._floor.at(now + drain_ps, lambda: self._turn(change))

    def on_port(self, node: str, port: int, up: bool) -> None:
        """A port was found to be up or down."""
        change = self._now
        if change is not None and up and (node, port) in change.waits_for:
            change.waits_for.discard((node, port))
            if not change.waits_for:
                self._floor.at(self._floor.now_ps + self._processing_ps, lambda: self._finish(change))

    def _turn(self, change: _Change) -> None:
        stands_ps = self._floor.turn(change.circuits)
        self._floor.at(stands_ps + self._patience_ps, lambda: self._finish(change))

    def _finish(self, change: _Change) -> None:
        """All new circuits carry, or those that do not are not waited for any more."""
        if self._now is not change:
            return
        plan, written = self._replanned(change.target, change.demand, change.waits_for)
        self._now = None
        self._floor.adopt(plan, written)
        before, after = (_circuits(one) for one in (change.before, change.target))
        self.done.append(
            Rewired(
                at_ps=change.begun_ps,
                stands_ps=self._floor.now_ps,
                kept=tuple(name for name in before if name in after),
                torn=tuple(name for name in before if name not in after),
                made=tuple(name for name in after if name not in before),
                before=change.before,
                after=change.target,
                hitless=change.hitless,
                updates=change.updates + sum(map(len, written.values())),
            )
        )
        change.then()
        self._go_on()

    def _replanned(
        self, fabric: Fabric, demand: Demand, dark: Iterable[Port] = ()
    ) -> tuple[Plan, dict[str, tuple[Update, ...]]]:
        unlit = (fabric.link_at(*end) for end in dark)
        return replanned(
            self._floor.plan,
            fabric,
            peers=demand,
            demand=demand if self._policy.known else None,
            installed=self._floor.installed(),
            down=self._floor.down | {link.name for link in unlit if link is not None},
        )


def _ways(updates: Iterable[Update]) -> tuple[Update, ...]:
    return tuple(update for update in updates if update.entry.table not in _TURNS)


def _circuits(fabric: Fabric) -> tuple[str, ...]:
    fibres = {end for switch in fabric.optical for end in switch.ends}
    return tuple(link.name for link in fabric.links if link.a in fibres)


def _ends(fabric: Fabric, other: Fabric) -> frozenset[Port]:
    """Ends of links that the other fabric does not have."""
    have = {link.name for link in other.links}
    new = (link for link in fabric.links if link.name not in have)
    return frozenset((end.node, end.port) for link in new for end in (link.a, link.b))
