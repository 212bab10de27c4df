# SPDX-License-Identifier: Apache-2.0
"""Spares on a running testbed: a node is found to be lost, a spare takes its place, its job goes on.

Node controllers know links; that a node is lost is seen by whoever hears of all of its links, here one
place for a fabric. UB-Mesh gives the times of people for it: ten minutes to find a fault, three to migrate. A
run lasts microseconds, so both times are the scenario's own. Where a spare has its place by circuits alone
(Rail-only, faults), optical switches are turned first, and tables are written once both ends see light.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, final

from controller.diff import Update
from controller.errors import PlanError
from controller.plan import Entry, Plan
from controller.recovery.spare import Standby, takeover
from controller.routing.weights import Demand
from emulation.errors import CutOffError
from topologies import Fabric, Link
from topologies.transform.spares import SIDES, Replacement

__all__ = ["SparePolicy", "TakeoverRecord", "TakeoverController"]

# Of detection and processing: both ends of a new circuit that do not see light by then are not waited for.
_PATIENCE = 10

Port = tuple[str, int]


@final
@dataclass(frozen=True, slots=True)
class TakeoverRecord:
    """`spare` holds the address of `npu` since `at_ps`; that its holder, `lost`, was lost was seen before.

    `along` are others that moved with it, by place and spare, and `circuits` how many were made for it.
    `without` are members that were there and had lost the network between domains, or their own domain:
    `lost`, or those below it, or of its domain.
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
        """All that took a place."""
        return (self.spare, *(spare for _, spare in self.along))

    def document(self) -> dict[str, Any]:
        """For a file: what only some takeovers have is left out of the others."""
        always = ("npu", "spare", "lost", "detected_ps", "at_ps", "updates")
        return {key: value for key, value in asdict(self).items() if key in always or value}

    def __str__(self) -> str:
        who = self.lost if self.lost == self.npu else f"{self.lost}, in the place of {self.npu},"
        others = ", ".join(name for name in self.without if name != self.lost)
        if self.lost in self.without:
            how = f"be cut off{', and with it ' + others if others else ''}"
        else:
            how = f"have lost {others}" if others else "be gone"
        had = f"{self.spare} had its place"
        if self.along:
            moved = ", ".join(f"{spare} that of {place}" for place, spare in self.along)
            had = f"{had}, {moved},"
        made = f"{self.circuits} circuit{'s' * (self.circuits > 1)} made, " if self.circuits else ""
        return (
            f"{who} was found to {how} at {self.detected_ps / 10**6:g} us; "
            f"{had} at {self.at_ps / 10**6:g} us, {made}{self.updates} table entries written"
        )


@final
@dataclass(frozen=True, slots=True)
class SparePolicy:
    """A spare has the place of a node `migrate_ps` after it has been decided, or when its circuits stand.

    `members` are those whose loss is one. `demand` is that of the plan. `active` says whether there is still
    a job; `resume` is called when the tables are in place, with the spare by every endpoint's place.
    """

    migrate_ps: int
    active: Callable[[], bool]
    resume: Callable[[Mapping[str, str]], None]
    demand: Demand | None = None
    members: Collection[str] | None = None


class _Runtime(Protocol):
    """What takeovers ask of the loop that runs them."""

    @property
    def now_ps(self) -> int: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def installed(self) -> Mapping[str, tuple[Entry, ...]]:
        """What the tables of each node hold now."""
        ...

    def turn(self, circuits: Mapping[str, Mapping[int, int]]) -> int:
        """Have optical switches make these maps; when the new circuits stand."""
        ...

    def adopt(self, plan: Plan, updates: Mapping[str, tuple[Update, ...]]) -> None:
        """Write the updates and go on from another plan; whatever was about to be written is void."""
        ...


@final
@dataclass(frozen=True, slots=True)
class _Begun:
    """A replacement that has been decided; `places` has the spares by place."""

    found: Replacement
    lost: str
    detected_ps: int
    places: Mapping[str, str]
    without: tuple[str, ...]
    circuits: int


@final
@dataclass(slots=True)
class _Turning:
    """A takeover whose circuits are on their way.

    `ports` are the ends of all circuits that come or go; of those that come, `waits_for` are still dark.
    """

    begun: _Begun
    ports: frozenset[Port]
    waits_for: set[Port]
    # Who was found to be lost meanwhile, and when.
    later: list[tuple[str, int]] = field(default_factory=list)


@final
class TakeoverController:
    """Told of ports, lets spares take over. CutOffError, from a callback of its floor, when none can."""

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
        self._turning: _Turning | None = None
        self.standby = Standby(plan.fabric, policy.members)
        self.done: list[TakeoverRecord] = []

    def turns(self, node: str, port: int) -> bool:
        """Whether a circuit at that port comes or goes just now, for a takeover: not to be routed around."""
        return self._turning is not None and (node, port) in self._turning.ports

    def on_port(self, node: str, port: int, up: bool) -> None:
        """A port of a node was found to be up or down."""
        lost = self.standby.on_port(node, port, up)
        turning = self._turning
        if turning is not None and up and (node, port) in turning.waits_for:
            turning.waits_for.discard((node, port))
            if not turning.waits_for:
                self._runtime.at(self._runtime.now_ps + self._processing_ps, lambda: self._turned(turning))
        if lost is not None and lost not in self._pending and self._policy.active():
            self._expect(lost)

    def _expect(self, lost: str) -> None:
        self._pending.add(lost)
        now = self._runtime.now_ps
        self._runtime.at(
            now + self._processing_ps + self._policy.migrate_ps, lambda: self._take_over(lost, now)
        )

    def _take_over(self, lost: str, detected_ps: int) -> None:
        if self._turning is not None:
            self._turning.later.append((lost, detected_ps))
            return
        self._pending.discard(lost)
        standby = self.standby
        if not standby.is_lost(lost):
            return
        # What another takes over may be what this one lacks.
        remedies = ((one, standby.remedy(one)) for one in dict.fromkeys((lost, *standby.lost())))
        one, found = next((pair for pair in remedies if pair[1] is not None), (lost, None))
        if found is None:
            raise self._cut_off(lost, standby.lost(), standby.why_none(lost))
        self._begin(found, one, detected_ps)
        if one != lost:
            self._take_over(lost, detected_ps)

    def _begin(self, found: Replacement, lost: str, detected_ps: int) -> None:
        standby = self.standby
        before = standby.fabric
        cause = lost if lost in found.places else next(iter(found.places))
        without: tuple[str, ...] = ()
        if not standby.is_gone(cause) or before.node(cause).tier:
            cut = (name for name in standby.lost() if not standby.is_gone(name))
            without = tuple(name for name in cut if name in found.places or _below(before, name, cause))
        ends = (node.name for node in before.nodes if not node.tier)
        gone = {name for name in ends if standby.is_gone(name)} if found.circuits else set[str]()
        places = standby.replace(found)
        comes, goes = _links_beside(standby.fabric, before), _links_beside(before, standby.fabric)
        begun = _Begun(found, cause, detected_ps, places, without, len(comes))
        if not found.circuits:
            self._finish(begun)
            return
        for end in _ends(comes):
            standby.on_port(*end, False)
        # Who is gone does not light up.
        lit = [link for link in comes if gone.isdisjoint((link.a.node, link.b.node))]
        turning = self._turning = _Turning(begun, _ends(comes) | _ends(goes), set(_ends(lit)))
        stands_ps = self._runtime.turn(found.circuits)
        self._runtime.at(stands_ps + self._patience_ps, lambda: self._turned(turning))

    def _turned(self, turning: _Turning) -> None:
        """All new circuits carry, or those that do not are not waited for any more."""
        if self._turning is not turning:
            return
        self._turning = None
        self._finish(turning.begun)
        for lost, detected_ps in turning.later:
            self._take_over(lost, detected_ps)
        for lost in self.standby.lost():
            if lost not in self._pending and self._policy.active():
                self._expect(lost)

    def _finish(self, begun: _Begun) -> None:
        standby, now = self.standby, self._runtime.now_ps
        found, places = begun.found, dict(begun.places)
        pairs = {(standby.holder(source), standby.holder(far)) for source, far in self._pairs}
        demand = self._policy.demand
        if demand is not None:
            demand = {(standby.holder(one), standby.holder(far)): size for (one, far), size in demand.items()}
        try:
            self._plan, updates = takeover(
                self._plan,
                found,
                down=standby.down,
                peers=[pair for pair in pairs if pair[0] != pair[1]],
                demand=demand,
                installed=self._runtime.installed(),
                partial=bool(standby.lost()),
            )
        except PlanError as ex:
            spares = ", ".join(places.values())
            raise self._cut_off(begun.lost, (begun.lost,), f"{spares} cannot take over: {ex}") from ex
        self._runtime.adopt(self._plan, updates)
        spare = found.places[begun.lost]
        npu = next(place for place, one in places.items() if one == spare)
        self.done.append(
            TakeoverRecord(
                npu,
                spare,
                begun.lost,
                begun.detected_ps,
                now,
                sum(map(len, updates.values())),
                along=tuple((place, one) for place, one in places.items() if place != npu),
                circuits=begun.circuits,
                without=begun.without,
            )
        )
        fabric = self._plan.fabric
        self._policy.resume({place: one for place, one in places.items() if not fabric.node(one).tier})

    def _cut_off(self, lost: str, nodes: tuple[str, ...], why: str) -> CutOffError:
        standby = self.standby
        side = None if standby.is_gone(lost) else standby.side_lost(lost)
        links = f"link to {SIDES[side]}" if side else "link"
        return CutOffError(self._runtime.now_ps, nodes, why, links=links, remedy=standby.advice)


def _below(fabric: Fabric, name: str, switch: str) -> bool:
    return fabric.node(switch).tier > 0 and switch in fabric.neighbours(name)


def _links_beside(fabric: Fabric, other: Fabric) -> list[Link]:
    """Links of one fabric that the other has not."""
    names = {link.name for link in other.links}
    return [link for link in fabric.links if link.name not in names]


def _ends(links: Iterable[Link]) -> frozenset[Port]:
    return frozenset((end.node, end.port) for link in links for end in (link.a, link.b))
