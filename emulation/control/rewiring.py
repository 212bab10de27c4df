# SPDX-License-Identifier: Apache-2.0
"""Circuits that move under running jobs (LumosCore): routes leave them, they go dark, routes come back.

They follow one rule: whenever a job begins or ends, and whenever light goes or comes back, the demand of the
jobs that are there is realised again on the ports that have light, and few circuits move. A job for which
there is no circuit between two of its Pods waits for one that ends.

What is on its way over a circuit when its routes are taken away is given time to leave it. What stays joined
is not touched, and its routes change only where they lead on to what moves.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Protocol, final

from controller.circuits.transition import (
    Crossconnects,
    Lack,
    Realised,
    lacking,
    lit_between,
    realised,
    replanned,
    staying,
    to_write,
)
from controller.diff import Update
from controller.errors import PlanError
from controller.plan import Entry, Plan
from controller.routing.unreachable import unreachable
from controller.routing.weights import Demand
from emulation.control.light_monitor import LightMonitor
from emulation.control.rewiring_record import RewiringRecord
from topologies import Fabric
from topologies.transform.circuits import with_maps

__all__ = ["RewiringPolicy", "RewiringController"]

Port = tuple[str, int]

# Tables that say by which ports frames may come and go, and not which way.
_TURNS = ("arrival", "departure", "vl_turn")

# Ends of new circuits that do not see light within this many times of noticing it are not waited for.
_PATIENCE = 10


@final
@dataclass(frozen=True, slots=True)
class RewiringPolicy:
    """What is on its way to a spine, and then over a circuit, has half of `drain_ps` each to leave it.

    `jobs` is asked for at each change: what those that have come and not ended send, bytes by pairs, by name;
    these pairs alone are planned for. `known`: shares of paths follow it.
    """

    drain_ps: int
    jobs: Callable[[], Mapping[str, Demand]]
    known: bool = True


class _Runtime(Protocol):
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
    """One that is under way; `unlit` are ends of new circuits that are still dark, `waits_for` those of them
    that may be expected to see light. Nodes that are `held` get the tables of what stays at `held_ps`.
    """

    begun_ps: int
    why: str
    before: Fabric
    target: Fabric
    circuits: Crossconnects
    plan: Plan
    jobs: Mapping[str, Demand]
    then: list[Callable[[], None]]
    hitless: bool
    updates: int
    ports: frozenset[Port]
    held: Set[str]
    held_ps: int
    unlit: set[Port]
    waits_for: set[Port]


@final
class RewiringController:
    """Changes circuits, one change after the other."""

    def __init__(
        self, runtime: _Runtime, policy: RewiringPolicy, *, detect_ps: int, processing_ps: int
    ) -> None:
        self._runtime = runtime
        self._policy = policy
        self._processing_ps = processing_ps
        self._settle_ps = max(1, detect_ps + processing_ps)
        self._now: _Change | None = None
        self._waiting: dict[str, Callable[[], None]] = {}  # jobs, and what begins them
        self._reasons: list[str] = []  # why circuits are to follow the jobs anew
        optical = runtime.plan.fabric.optical
        self._fibres = {(end.node, end.port) for switch in optical for end in switch.ends}
        self._light = LightMonitor()
        self._looks = False
        self._lacks: tuple[Lack, ...] = ()
        self.done: list[RewiringRecord] = []

    def turns(self, node: str, port: int) -> bool:
        """Whether a circuit at that port comes or goes just now: not to be routed around."""
        return self._now is not None and (node, port) in self._now.ports

    def held_until(self, node: str) -> int:
        """When a node's tables will be those that its controller takes them for; in the past, they are."""
        change = self._now
        return change.held_ps if change is not None and node in change.held else 0

    @property
    def waiting(self) -> tuple[str, ...]:
        """Jobs for which there have been no circuits yet."""
        return tuple(self._waiting)

    def begin(self, job: str, then: Callable[[], None]) -> None:
        """Give a job that has come its circuits, and call `then` when they stand.

        PlanError, from the testbed's run, when they could not be had if no other job were there.
        """
        self._waiting[job] = then
        self._go_on_soon()

    def again(self, why: str) -> None:
        """Have circuits follow the jobs that are there now."""
        self._reasons.append(why)
        self._go_on_soon()

    def _go_on_soon(self) -> None:
        """Who comes and what happens at one time makes one change."""
        self._runtime.at(self._runtime.now_ps, self._go_on)

    def on_light(self, optical: str, port: int, lit: bool) -> None:
        """An optical switch was found to have light at a port, or none."""
        self._light.on_light(optical, port, lit)
        self._look_soon()

    def on_port(self, node: str, port: int, up: bool) -> None:
        """A port was found to be up or down."""
        change = self._now
        if change is not None and up and (node, port) in change.unlit:
            change.unlit.discard((node, port))
            if (node, port) in change.waits_for:
                change.waits_for.discard((node, port))
                if not change.waits_for:
                    at = self._runtime.now_ps + self._processing_ps
                    self._runtime.at(at, lambda: self._finish(change))
        if (node, port) in self._fibres:
            self._look_soon()

    def _look_soon(self) -> None:
        """What fails at one time is found at one time."""
        if not self._looks:
            self._looks = True
            self._runtime.at(self._runtime.now_ps + self._processing_ps, self._look)

    def _look(self) -> None:
        """Whether other ports have light than when it was last looked."""
        if self._now is not None:
            return  # when that is done
        self._looks = False
        if news := self._light.look(self._runtime.plan.fabric, self._runtime.down):
            self.again(news)

    def _go_on(self) -> None:
        while self._now is None and (self._waiting or self._reasons):
            come = self._policy.jobs()
            jobs = {name: demand for name, demand in come.items() if name not in self._waiting}
            new = self._who_can_begin(come, jobs)
            if not new and not self._reasons:
                return
            why = "; ".join([*(f"{name} begins" for name in new), *dict.fromkeys(self._reasons)])
            self._reasons.clear()
            jobs |= {name: come[name] for name in new}
            if not jobs:
                return  # circuits stay until they are needed
            self._begin(why, jobs, [self._waiting.pop(name) for name in new])

    def _who_can_begin(self, come: Mapping[str, Demand], running: Mapping[str, Demand]) -> list[str]:
        """Those that wait for whom there are circuits beside all that run; who came first, first."""
        found: list[str] = []
        for name in self._waiting:
            there = {**running, **{one: come[one] for one in found}}
            if not there or self._fits({name: come[name]}, there):
                found.append(name)
        return found

    def _fits(self, new: Mapping[str, Demand], there: Mapping[str, Demand]) -> bool:
        """Whether no Pods are without a circuit then that are not anyway."""
        try:
            together, before = self._realised({**there, **new}), self._realised(there)
        except PlanError:
            return False
        return not (together.cut & ~before.cut).any()

    def _realised(self, jobs: Mapping[str, Demand]) -> Realised:
        return realised(self._runtime.plan.fabric, _all_of(jobs), self._light.dark)

    def _begin(self, why: str, jobs: Mapping[str, Demand], then: list[Callable[[], None]]) -> None:
        fabric = self._runtime.plan.fabric
        circuits = self._realised(jobs).circuits
        target = with_maps(fabric, circuits)
        stay = staying(fabric, circuits)
        comes, goes = _ends(target, stay), _ends(fabric, stay)
        hopeless = self._light.hopeless(target) & comes
        # Before anything is touched: whether there will be a way for all.
        demand = self._with_a_way(target, _all_of(jobs), hopeless)
        final = self._replanned(target, demand, hopeless)
        now = self._runtime.now_ps
        if not comes and not goes:
            # Who has just come may have had no routes.
            count = self._adopt(final) if then or self._light.dark else 0
            self._note(now, why, fabric, target, jobs, updates=count)
            _each(then)
            return
        updates, hitless, higher = 0, True, {}
        try:
            # Who has just come sends nothing before the new circuits carry.
            running = {pair: amount for pair, amount in demand.items() if pair in self._runtime.plan.routes}
            drained = self._replanned(stay, running)
        except PlanError:
            hitless = False  # what has no other way waits for its circuits, and sends again what was lost
        else:
            # What is under way still comes in by circuits that go: where from, tables know until the end.
            written = {
                node: _ways(some) for node, some in to_write(drained, self._runtime.installed()).items()
            }
            # First those below stop sending to spines that will have no way; then these, when none comes.
            higher = {node: some for node, some in written.items() if fabric.node(node).level > 1}
            self._runtime.adopt(drained, {node: some for node, some in written.items() if node not in higher})
            updates = sum(map(len, written.values()))
        waits_for = set(comes) - hopeless
        drain_ps = self._policy.drain_ps if hitless else 0
        change = self._now = _Change(
            now,
            why,
            fabric,
            target,
            circuits,
            final,
            jobs,
            then,
            hitless,
            updates,
            comes | goes,
            higher.keys(),
            now + drain_ps // 2,
            set(comes),
            waits_for,
        )
        self._runtime.at(now + drain_ps // 2, lambda: self._runtime.write(higher))
        self._runtime.at(now + drain_ps, lambda: self._turn(change))

    def _turn(self, change: _Change) -> None:
        stands_ps = self._runtime.turn(change.circuits)
        patience = _PATIENCE if change.waits_for else 1
        self._runtime.at(stands_ps + patience * self._settle_ps, lambda: self._finish(change))

    def _finish(self, change: _Change) -> None:
        """All new circuits carry, or those that do not are not waited for any more."""
        if self._now is not change:
            return
        demand = self._with_a_way(change.target, _all_of(change.jobs), change.unlit)
        plan = change.plan
        if plan.failed != self._down(change.target, change.unlit):  # not as it was foreseen
            plan = self._replanned(change.target, demand, change.unlit)
        self._now = None
        updates = change.updates + self._adopt(plan)
        self._note(
            change.begun_ps,
            change.why,
            change.before,
            change.target,
            change.jobs,
            updates=updates,
            hitless=change.hitless,
        )
        _each(change.then)
        self._go_on()
        if self._now is None:
            self._look()

    def _note(
        self,
        begun_ps: int,
        why: str,
        old: Fabric,
        new: Fabric,
        jobs: Mapping[str, Demand],
        *,
        updates: int,
        hitless: bool = True,
    ) -> None:
        """Write down what moved, and who lacks what; nothing of either is no news."""
        down = self._runtime.down
        lacks = lacking(new, jobs, lit_between(new, down))
        change = RewiringRecord.of(
            old,
            new,
            down,
            at_ps=begun_ps,
            stands_ps=self._runtime.now_ps,
            hitless=hitless,
            updates=updates,
            why=why,
            lacks=lacks,
        )
        if change.torn or change.made or lacks != self._lacks:
            self._lacks = lacks
            self.done.append(change)

    def _with_a_way(self, fabric: Fabric, demand: Demand, dark: Iterable[Port]) -> Demand:
        """Without pairs that failures have cut off, whose agents will say so; all, where nothing failed."""
        down = self._down(fabric, dark)
        if not down:
            return demand
        cut = set(unreachable(replace(self._runtime.plan, fabric=fabric), down, demand))
        return {pair: amount for pair, amount in demand.items() if pair not in cut}

    def _adopt(self, plan: Plan) -> int:
        """How many entries that writes."""
        written = to_write(plan, self._runtime.installed())
        self._runtime.adopt(plan, written)
        return sum(map(len, written.values()))

    def _replanned(self, fabric: Fabric, demand: Demand, dark: Iterable[Port] = ()) -> Plan:
        return replanned(
            self._runtime.plan,
            fabric,
            peers=demand,
            demand=demand if self._policy.known else None,
            down=self._down(fabric, dark),
        )

    def _down(self, fabric: Fabric, dark: Iterable[Port]) -> Set[str]:
        unlit = (fabric.link_at(*end) for end in dark)
        known = {link.name for link in fabric.links}
        return {*(self._runtime.down & known), *(link.name for link in unlit if link is not None)}


def _all_of(jobs: Mapping[str, Demand]) -> Demand:
    """Of jobs that share no members."""
    return {pair: amount for demand in jobs.values() for pair, amount in demand.items()}


def _each(then: Iterable[Callable[[], None]]) -> None:
    for call in then:
        call()


def _ways(updates: Iterable[Update]) -> tuple[Update, ...]:
    return tuple(update for update in updates if update.entry.table not in _TURNS)


def _ends(fabric: Fabric, other: Fabric) -> frozenset[Port]:
    """Ends of links that the other fabric does not have."""
    have = {link.name for link in other.links}
    new = (link for link in fabric.links if link.name not in have)
    return frozenset((end.node, end.port) for link in new for end in (link.a, link.b))
