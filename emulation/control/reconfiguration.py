# SPDX-License-Identifier: Apache-2.0
"""Changes of optical circuits under running jobs (LumosCore): withdraw routes, move circuits, restore routes.

Whenever a job begins or ends, or light is lost or returns, circuits are allocated again to the demand of the
present jobs on the ports that have light, moving few circuits. A job that lacks a circuit between two of its
Pods waits until another job ends.

Before a circuit moves, frames on it get time to leave it. Circuits that stay are not touched, and their
routes change only if they continue over a circuit that moves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from controller.circuits.transition import (
    CircuitShortage,
    Crossconnects,
    allocate_crossconnects,
    circuit_shortages,
    keep_common_circuits,
    pod_traffic,
    replan,
    standing_circuits,
    unserved_pods,
)
from controller.errors import PlanError
from controller.garbage import garbage_collection_paused
from controller.paths.shares.weights import Demand
from controller.plan.diff import diff_nodes
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from controller.plan.updates import Update
from controller.recovery.unreachable import unreachable_pairs
from emulation.control.circuit_change import Change, Port, ends_beyond, without_turns
from emulation.control.light_monitor import LightMonitor
from emulation.control.reconfiguration_record import ReconfigurationRecord
from topologies import Fabric
from topologies.transform.circuits import with_maps

__all__ = ["ReconfigurationController", "ReconfigurationPolicy"]

# A change waits for dark new circuits at most this multiple of detection plus processing time.
_PATIENCE = 10


@final
@dataclass(frozen=True, slots=True)
class ReconfigurationPolicy:
    """Settings of the reconfiguration of circuits.

    Frames have half of `drain_ps` to reach a spine, and half to cross a circuit before the circuit moves.
    `jobs()` returns the demand of each job that has arrived and not ended, in bytes by (source, destination);
    only these pairs get routes. `known`: the plan weights paths by the demand.
    """

    drain_ps: int
    jobs: Callable[[], Mapping[str, Demand]]
    known: bool = True


class _Runtime(Protocol):
    """Operations of the control loop used by reconfiguration."""

    plan: Plan

    @property
    def now_ps(self) -> int: ...
    @property
    def down(self) -> frozenset[str]: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def installed(self) -> Mapping[str, Sequence[Entry]]: ...
    def adopt(self, plan: Plan, updates: Mapping[str, Sequence[Update]]) -> None: ...
    def write(self, updates: Mapping[str, Sequence[Update]]) -> None: ...
    def reconfigure(self, circuits: Crossconnects) -> int: ...


@final
class ReconfigurationController:
    """Changes circuits as jobs arrive and end and ports fail, one change at a time.

    A job that arrives during a change waits if the change begins another job. Any other change, such as a
    change after a departure, gives way while its circuits are dark: a change for all present jobs replaces
    that change, and continues from the state reached.
    """

    def __init__(
        self, runtime: _Runtime, policy: ReconfigurationPolicy, *, detect_ps: int, processing_ps: int
    ) -> None:
        self._runtime = runtime
        self._policy = policy
        self._processing_ps = processing_ps
        self._settle_ps = max(1, detect_ps + processing_ps)
        self._now: Change | None = None
        self._waiting: dict[str, Callable[[], None]] = {}  # by job, the call that begins it
        self._reasons: list[str] = []  # causes of the next change, in words
        optical = runtime.plan.fabric.optical
        self._fibres = {(end.node, end.port) for switch in optical for end in switch.ends}
        self._light = LightMonitor()
        self._look_scheduled = False
        self._lacks: tuple[CircuitShortage, ...] = ()
        self.done: list[ReconfigurationRecord] = []

    def is_moving(self, node: str, port: int) -> bool:
        """Return whether a circuit at a port is being set up or torn down; its loss is then no failure."""
        return self._now is not None and (node, port) in self._now.ports

    def held_until(self, node: str) -> int:
        """Return the time in ps at which a node's tables match its controller's plan; 0 if they do now."""
        change = self._now
        return change.held_ps if change is not None and node in change.held else 0

    @property
    def waiting(self) -> tuple[str, ...]:
        """Jobs still without circuits."""
        return tuple(self._waiting)

    def begin(self, job: str, then: Callable[[], None]) -> None:
        """Set up the circuits of an arrived job, and call `then` when they are up.

        The testbed's run() raises PlanError if the circuits cannot be allocated even without other jobs.
        """
        self._waiting[job] = then
        self._go_on_soon()

    def reallocate(self, why: str) -> None:
        """Allocate circuits to the present jobs again; `why` is the cause in words."""
        self._reasons.append(why)
        self._go_on_soon()

    def _go_on_soon(self) -> None:
        """Schedule the next change of circuits.

        Jobs that arrive and faults that happen at the same time make a single change.
        """
        self._runtime.at(self._runtime.now_ps, self._go_on)

    def on_light(self, optical: str, port: int, lit: bool) -> None:
        """React to a gain or loss of light at a port of an optical switch."""
        self._light.on_light(optical, port, lit)
        self._look_soon()

    def on_port(self, node: str, port: int, up: bool) -> None:
        """Handle a port detected as up or down."""
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
        """Schedule a check of the light, unless one is scheduled; a check covers all earlier changes."""
        if not self._look_scheduled:
            self._look_scheduled = True
            self._runtime.at(self._runtime.now_ps + self._processing_ps, self._look)

    def _look(self) -> None:
        """Reallocate circuits if the set of unusable ports has changed since the last check."""
        if self._now is not None:
            return  # _finish checks again when the present change ends
        self._look_scheduled = False
        if news := self._light.look(self._runtime.plan.fabric, self._runtime.down):
            self.reallocate(news)

    def _go_on(self) -> None:
        while (self._now is None and self._reasons) or (self._waiting and self._gives_way()):
            present = self._policy.jobs()
            jobs = {name: demand for name, demand in present.items() if name not in self._waiting}
            new = self._can_begin(present, jobs)
            if not new and (self._now is not None or not self._reasons):
                return
            replaced, self._now = self._now, None
            reasons = [*([replaced.why] if replaced else []), *(f"{name} begins" for name in new)]
            why = "; ".join([*reasons, *dict.fromkeys(self._reasons)])
            self._reasons.clear()
            jobs |= {name: present[name] for name in new}
            if not jobs:
                return  # circuits stay until they are needed
            self._begin(why, jobs, [self._waiting.pop(name) for name in new], replaced)

    def _gives_way(self) -> bool:
        """Return whether a change for an arrived job may begin now."""
        change = self._now
        if change is None:
            return True
        return not change.then and (change.lit_ps is None or self._runtime.now_ps < change.lit_ps)

    def _can_begin(self, present: Mapping[str, Demand], running: Mapping[str, Demand]) -> list[str]:
        """Return the waiting jobs that get circuits beside all running jobs, in order of arrival."""
        fabric, chosen = self._runtime.plan.fabric, list[str]()
        traffic = pod_traffic(fabric, _all_of(running))
        for name in self._waiting:
            together = traffic + pod_traffic(fabric, present[name])
            if not (running or chosen) or self._fits(traffic, together):
                chosen.append(name)
                traffic = together
        return chosen

    def _fits(self, before: NDArray[np.int64], together: NDArray[np.int64]) -> bool:
        """Return whether the present circuits serve more traffic as completely as the traffic `before`.

        `before` and `together` are bytes for each pair of Pods, shape (Pods, Pods): without and with the new
        traffic. The result is False if `together` leaves two Pods unserved that `before` does not.
        """
        fabric, dark = self._runtime.plan.fabric, self._light.dark
        try:
            unserved = unserved_pods(fabric, together, dark) & ~unserved_pods(fabric, before, dark)
        except PlanError:
            return False
        return not unserved.any()

    @garbage_collection_paused()
    def _begin(
        self,
        why: str,
        jobs: Mapping[str, Demand],
        then: list[Callable[[], None]],
        replaced: Change | None = None,
    ) -> None:
        """Begin a change for `jobs`; it continues from the unfinished change `replaced`, if given."""
        fabric = replaced.standing if replaced else self._runtime.plan.fabric
        before = replaced.before if replaced else fabric
        circuits = allocate_crossconnects(fabric, _all_of(jobs), self._light.dark).circuits
        target = with_maps(fabric, circuits)
        stay = keep_common_circuits(fabric, circuits)
        added, removed = ends_beyond(target, stay), ends_beyond(fabric, stay)
        unlit = self._light.unlit_ends(target) & added
        # Plan the final state first: PlanError before anything changes if a pair has no route.
        demand = self._reachable(target, _all_of(jobs), unlit)
        final = self._replanned(target, demand, unlit)
        now = self._runtime.now_ps
        if not added and not removed:
            # Routes are only written if they may differ, such as those of a job that has just arrived.
            count = self._adopt(final) if then or self._light.dark or replaced else 0
            if replaced and replaced.turned:
                self._runtime.reconfigure(circuits)  # drops the circuits that were about to be set up
            self._note(now, why, before, target, jobs, updates=count)
            _each(then)
            return
        updates, hitless = (replaced.updates, replaced.hitless) if replaced else (0, True)
        higher: Mapping[str, Sequence[Update]] = {}
        try:
            # A job that has just arrived sends nothing before the new circuits are up.
            routed = set(self._runtime.plan.routes)
            running = {pair: amount for pair, amount in demand.items() if pair in routed}
            drained = self._replanned(stay, running)
        except PlanError:
            hitless = False  # pairs without another route wait for their circuits and retransmit
        else:
            # Frames under way still arrive over circuits that are torn down, so ingress tables stay.
            written = {
                node: without_turns(some)
                for node, some in diff_nodes(self._runtime.installed(), drained.entries).items()
            }
            # Leaves first stop sending to spines that lose circuits; then the spines change.
            higher = {node: some for node, some in written.items() if fabric.node(node).level > 1}
            self._runtime.adopt(drained, {node: some for node, some in written.items() if node not in higher})
            updates += sum(map(len, written.values()))
        waits_for = set(added) - unlit
        drain_ps = self._policy.drain_ps if hitless else 0
        change = self._now = Change(
            now,
            why,
            before,
            stay,
            target,
            circuits,
            final,
            jobs,
            then,
            hitless,
            updates,
            added | removed,
            higher.keys(),
            now + drain_ps // 2,
            set(added),
            waits_for,
        )
        self._runtime.at(now + drain_ps // 2, lambda: self._write_higher(change, higher))
        self._runtime.at(now + drain_ps, lambda: self._turn(change))

    def _write_higher(self, change: Change, updates: Mapping[str, Sequence[Update]]) -> None:
        if self._now is change:
            self._runtime.write(updates)

    def _turn(self, change: Change) -> None:
        if self._now is not change:
            return
        change.turned = True
        stands_ps = change.lit_ps = self._runtime.reconfigure(change.circuits)
        patience = _PATIENCE if change.waits_for else 1
        self._runtime.at(stands_ps + self._settle_ps, lambda: self._be_patient(change, patience - 1))

    def _be_patient(self, change: Change, times: int) -> None:
        """Finish a change after `times` further waits of `_settle_ps`, unless it finishes earlier.

        A single long timer would outlast the change, and so prolong a run in real time.
        """
        if times and self._now is change:
            at = self._runtime.now_ps + self._settle_ps
            self._runtime.at(at, lambda: self._be_patient(change, times - 1))
        else:
            self._finish(change)

    @garbage_collection_paused()
    def _finish(self, change: Change) -> None:
        """Finish a change once its new circuits carry light or have timed out."""
        if self._now is not change:
            return
        demand = self._reachable(change.target, _all_of(change.jobs), change.unlit)
        plan = change.plan
        if plan.failed != self._down(
            change.target, change.unlit
        ):  # a circuit failed or came up during the change
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
        """Record a change, unless it moved no circuit and no job's shortage of circuits changed."""
        down = self._runtime.down
        lacks = circuit_shortages(new, jobs, standing_circuits(new, down))
        change = ReconfigurationRecord.of(
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
        if change.torn or change.created or lacks != self._lacks:
            self._lacks = lacks
            self.done.append(change)

    def _reachable(self, fabric: Fabric, demand: Demand, dark: Iterable[Port]) -> Demand:
        """Return the demand without nodes disconnected by failures, whose agents report the failure."""
        down = self._down(fabric, dark)
        if not down:
            return demand
        cut = set(unreachable_pairs(replace(self._runtime.plan, fabric=fabric), down, demand))
        return {pair: amount for pair, amount in demand.items() if pair not in cut}

    def _adopt(self, plan: Plan) -> int:
        """Adopt a plan, and return the number of entries written."""
        written = diff_nodes(self._runtime.installed(), plan.entries)
        self._runtime.adopt(plan, written)
        return sum(map(len, written.values()))

    def _replanned(self, fabric: Fabric, demand: Demand, dark: Iterable[Port] = ()) -> Plan:
        return replan(
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
    """Return the joint demand of jobs without common members."""
    return {pair: amount for demand in jobs.values() for pair, amount in demand.items()}


def _each(then: Iterable[Callable[[], None]]) -> None:
    for call in then:
        call()
