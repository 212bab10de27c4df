# SPDX-License-Identifier: Apache-2.0
"""Spares on a running testbed: a node is detected as lost, a spare replaces it, its job continues.

Node controllers know links only. `TakeoverController`, one for the fabric, sees all links of a node and so
detects a lost node. UB-Mesh's times for people, ten minutes to locate a fault and three to migrate, are
longer than a run, so both times come from the scenario. A spare that is connected by circuits alone
(Rail-only) gets its circuits first; tables are written once both ends of the new circuits see light.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, final

from controller.errors import PlanError
from controller.paths.shares.weights import Demand
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from controller.plan.updates import Update
from controller.recovery.spare import SparePool, takeover
from emulation.errors import CutOffError
from topologies import Fabric, Link
from topologies.transform.spares import SIDES, Replacement

__all__ = ["SparePolicy", "TakeoverController", "TakeoverRecord"]

# A takeover waits for dark new circuits at most this multiple of detection plus processing time.
_PATIENCE = 10

Port = tuple[str, int]


@final
@dataclass(frozen=True, slots=True)
class TakeoverRecord:
    """A completed replacement of a node by a spare.

    Attributes:
        npu: Node whose address the spare has.
        spare: The spare.
        lost: Node that had the address before: `npu` or an earlier spare.
        detected_ps: Time at which the loss was detected.
        at_ps: Time from which the spare has the address.
        updates: Number of table entries written.
        along: Replacements made together with this one, as (original node, spare).
        circuits: Number of circuits set up for the replacement.
        without: Members that were still running, but had lost the network between domains, or their own
            domain: `lost` itself, members below it, or members of its domain.
    """

    npu: str
    spare: str
    lost: str
    detected_ps: int
    at_ps: int
    updates: int
    along: tuple[tuple[str, str], ...] = ()
    circuits: int = 0
    without: tuple[str, ...] = ()

    @property
    def spares(self) -> tuple[str, ...]:
        """All spares brought into service by this takeover."""
        return (self.spare, *(spare for _, spare in self.along))

    def document(self) -> dict[str, Any]:
        """Return plain values for a result file; optional fields are left out when empty."""
        always = ("npu", "spare", "lost", "detected_ps", "at_ps", "updates")
        return {key: value for key, value in asdict(self).items() if key in always or value}

    def __str__(self) -> str:
        subject = self.lost if self.lost == self.npu else f"{self.lost}, in the place of {self.npu},"
        others = ", ".join(name for name in self.without if name != self.lost)
        if self.lost in self.without:
            state = f"be cut off{', and with it ' + others if others else ''}"
        else:
            state = f"have lost {others}" if others else "be gone"
        result = f"{self.spare} had its place"
        if self.along:
            moved = ", ".join(f"{spare} that of {place}" for place, spare in self.along)
            result = f"{result}, {moved},"
        circuits = f"{self.circuits} circuit{'s' * (self.circuits > 1)} made, " if self.circuits else ""
        return (
            f"{subject} was found to {state} at {self.detected_ps / 10**6:g} us; "
            f"{result} at {self.at_ps / 10**6:g} us, {circuits}{self.updates} table entries written"
        )


@final
@dataclass(frozen=True, slots=True)
class SparePolicy:
    """Settings of takeovers.

    Attributes:
        migrate_ps: Time from detection and processing of a loss to the begin of the takeover, which ends once
            its circuits, if any, are up.
        active: Returns true while a job runs.
        resume: Called once the tables are written, with the spare of every replaced endpoint.
        demand: Demand of the plan.
        members: Nodes whose loss calls for a spare; None for all endpoints.
    """

    migrate_ps: int
    active: Callable[[], bool]
    resume: Callable[[Mapping[str, str]], None]
    demand: Demand | None = None
    members: Collection[str] | None = None


class _Runtime(Protocol):
    """Operations of the control loop used by takeovers."""

    @property
    def now_ps(self) -> int: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def installed(self) -> Mapping[str, Sequence[Entry]]:
        """Return the table entries of each node."""
        ...

    def reconfigure(self, circuits: Mapping[str, Mapping[int, int]]) -> int:
        """Apply crossconnect maps to optical switches; return when the new circuits are up."""
        ...

    def adopt(self, plan: Plan, updates: Mapping[str, Sequence[Update]], since_ps: int | None = None) -> None:
        """Write the updates and continue from another plan; scheduled writes are cancelled."""
        ...


@final
@dataclass(frozen=True, slots=True)
class _Takeover:
    """A replacement that has been decided; `spares` maps original nodes to the spares that replace them."""

    replacement: Replacement
    lost: str
    detected_ps: int
    spares: Mapping[str, str]
    without: tuple[str, ...]
    circuits: int


@final
@dataclass(slots=True)
class _Reconfiguring:
    """A takeover whose circuits are being set up.

    `ports` are the ends of all circuits that are set up or torn down; `waits_for` are the ends of new
    circuits that are still dark. `later` has (node, detection time) of the nodes due for takeover meanwhile.
    """

    decided: _Takeover
    ports: frozenset[Port]
    waits_for: set[Port]
    later: list[tuple[str, int]] = field(default_factory=list)


@final
class TakeoverController:
    """Replaces lost nodes by spares, from the states of their ports.

    Raises CutOffError, out of a callback of the runtime, if no spare can replace a lost node.
    """

    def __init__(
        self, runtime: _Runtime, plan: Plan, policy: SparePolicy, *, detect_ps: int, processing_ps: int
    ) -> None:
        self._runtime = runtime
        self._plan = plan
        self._policy = policy
        self._processing_ps = processing_ps
        self._patience_ps = max(1, _PATIENCE * (detect_ps + processing_ps))
        self._pairs = tuple(plan.routes)
        self._pending: set[str] = set()
        self._reconfiguring: _Reconfiguring | None = None
        self.standby = SparePool(plan.fabric, policy.members)
        self.done: list[TakeoverRecord] = []

    def is_moving(self, node: str, port: int) -> bool:
        """Return whether a circuit at a port is being set up or torn down; its loss is then no failure."""
        return self._reconfiguring is not None and (node, port) in self._reconfiguring.ports

    def on_port(self, node: str, port: int, up: bool) -> None:
        """Handle a port detected as up or down."""
        lost = self.standby.on_port(node, port, up)
        change = self._reconfiguring
        if change is not None and up and (node, port) in change.waits_for:
            change.waits_for.discard((node, port))
            if not change.waits_for:
                self._runtime.at(
                    self._runtime.now_ps + self._processing_ps, lambda: self._end_reconfiguring(change)
                )
        if lost is not None and lost not in self._pending and self._policy.active():
            self._expect(lost)

    def _expect(self, lost: str) -> None:
        self._pending.add(lost)
        now = self._runtime.now_ps
        self._runtime.at(
            now + self._processing_ps + self._policy.migrate_ps, lambda: self._take_over(lost, now)
        )

    def _take_over(self, lost: str, detected_ps: int) -> None:
        if self._reconfiguring is not None:
            self._reconfiguring.later.append((lost, detected_ps))
            return
        self._pending.discard(lost)
        standby = self.standby
        if not standby.is_lost(lost):
            return
        # Replacing another lost node may restore what this one lacks.
        remedies = (
            (node, standby.find_replacement(node)) for node in dict.fromkeys((lost, *standby.lost_nodes()))
        )
        node, replacement = next((pair for pair in remedies if pair[1] is not None), (lost, None))
        if replacement is None:
            raise self._cut_off(lost, standby.lost_nodes(), standby.why_none(lost))
        self._begin(replacement, node, detected_ps)
        if node != lost:
            self._take_over(lost, detected_ps)

    def _begin(self, replacement: Replacement, lost: str, detected_ps: int) -> None:
        standby = self.standby
        before = standby.fabric
        cause = lost if lost in replacement.places else next(iter(replacement.places))
        without: tuple[str, ...] = ()
        if not standby.is_gone(cause) or before.node(cause).is_switch:
            cut = (name for name in standby.lost_nodes() if not standby.is_gone(name))
            without = tuple(name for name in cut if name in replacement.places or _below(before, name, cause))
        ends = (node.name for node in before.endpoints)
        failed = {name for name in ends if standby.is_gone(name)} if replacement.circuits else set[str]()
        spares = standby.replace(replacement)
        added, removed = _links_beside(standby.fabric, before), _links_beside(before, standby.fabric)
        decided = _Takeover(replacement, cause, detected_ps, spares, without, len(added))
        if not replacement.circuits:
            self._finish(decided)
            return
        for end in _ends(added):
            standby.on_port(*end, False)
        # A failed node sends no light.
        lit = [link for link in added if failed.isdisjoint((link.a.node, link.b.node))]
        change = self._reconfiguring = _Reconfiguring(decided, _ends(added) | _ends(removed), set(_ends(lit)))
        stands_ps = self._runtime.reconfigure(replacement.circuits)
        self._runtime.at(stands_ps + self._patience_ps, lambda: self._end_reconfiguring(change))

    def _end_reconfiguring(self, change: _Reconfiguring) -> None:
        """Finish a takeover once its new circuits carry light or have timed out."""
        if self._reconfiguring is not change:
            return
        self._reconfiguring = None
        self._finish(change.decided)
        for lost, detected_ps in change.later:
            self._take_over(lost, detected_ps)
        for lost in self.standby.lost_nodes():
            if lost not in self._pending and self._policy.active():
                self._expect(lost)

    def _finish(self, decided: _Takeover) -> None:
        standby, now = self.standby, self._runtime.now_ps
        replacement, spares = decided.replacement, dict(decided.spares)
        holder = standby.holder
        pairs = {(holder(source), holder(destination)) for source, destination in self._pairs}
        demand = self._policy.demand
        if demand is not None:
            demand = {
                (holder(source), holder(destination)): size for (source, destination), size in demand.items()
            }
        try:
            self._plan, updates = takeover(
                self._plan,
                replacement,
                down=standby.down,
                peers=[pair for pair in pairs if pair[0] != pair[1]],
                demand=demand,
                installed=self._runtime.installed(),
                partial=bool(standby.lost_nodes()),
            )
        except PlanError as ex:
            names = ", ".join(spares.values())
            raise self._cut_off(decided.lost, (decided.lost,), f"{names} cannot take over: {ex}") from ex
        self._runtime.adopt(self._plan, updates, decided.detected_ps)
        spare = replacement.places[decided.lost]
        npu = next(original for original, holder_name in spares.items() if holder_name == spare)
        self.done.append(
            TakeoverRecord(
                npu,
                spare,
                decided.lost,
                decided.detected_ps,
                now,
                sum(map(len, updates.values())),
                along=tuple((original, other) for original, other in spares.items() if original != npu),
                circuits=decided.circuits,
                without=decided.without,
            )
        )
        fabric = self._plan.fabric
        self._policy.resume(
            {original: node for original, node in spares.items() if not fabric.node(node).is_switch}
        )

    def _cut_off(self, lost: str, nodes: tuple[str, ...], why: str) -> CutOffError:
        standby = self.standby
        side = None if standby.is_gone(lost) else standby.lost_side(lost)
        links = f"link to {SIDES[side]}" if side else "link"
        return CutOffError(self._runtime.now_ps, nodes, why, links=links, remedy=standby.advice)


def _below(fabric: Fabric, name: str, switch: str) -> bool:
    return fabric.node(switch).is_switch and switch in fabric.neighbours(name)


def _links_beside(fabric: Fabric, other: Fabric) -> list[Link]:
    """Return the links of `fabric` missing from `other`."""
    names = {link.name for link in other.links}
    return [link for link in fabric.links if link.name not in names]


def _ends(links: Iterable[Link]) -> frozenset[Port]:
    return frozenset((end.node, end.port) for link in links for end in (link.a, link.b))
