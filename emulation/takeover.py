# SPDX-License-Identifier: Apache-2.0
"""64+1 on a running testbed: an NPU is found to be gone, a spare takes its place, its job goes on (UB-Mesh).

Node controllers know links; that a node is gone is seen by whoever hears of all of its links, here one
place for a fabric. UB-Mesh gives the times of people for it: ten minutes to find a fault, three to migrate. A
run lasts microseconds, so both times are the scenario's own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, final

from controller.diff import Update
from controller.errors import PlanError
from controller.plan import Entry, Plan
from controller.spare import Standby, takeover
from controller.weights import Demand
from emulation.errors import CutOffError

__all__ = ["SparePolicy", "TakenOver", "Takeovers"]


@final
@dataclass(frozen=True, slots=True)
class TakenOver:
    """`spare` holds the address of `npu` since `at_ps`; that its holder, `lost`, was gone was seen before."""

    npu: str
    spare: str
    lost: str
    detected_ps: int
    at_ps: int
    updates: int

    def __str__(self) -> str:
        who = self.lost if self.lost == self.npu else f"{self.lost}, in the place of {self.npu},"
        return (
            f"{who} was found to be gone at {self.detected_ps / 10**6:g} us; "
            f"{self.spare} had its place at {self.at_ps / 10**6:g} us, {self.updates} table entries written"
        )


@final
@dataclass(frozen=True, slots=True)
class SparePolicy:
    """A spare has the place of an NPU `migrate_ps` after it has been decided.

    `demand` is that of the plan. `active` says whether there is still a job; `resume(npu, spare)` is called
    when the tables are in place.
    """

    migrate_ps: int
    active: Callable[[], bool]
    resume: Callable[[str, str], None]
    demand: Demand | None = None


class _Floor(Protocol):
    """What takeovers ask of the loop that runs them."""

    @property
    def now_ps(self) -> int: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def installed(self) -> Mapping[str, tuple[Entry, ...]]:
        """What the tables of each node hold now."""
        ...

    def adopt(self, plan: Plan, updates: Mapping[str, tuple[Update, ...]]) -> None:
        """Write the updates and go on from another plan; whatever was about to be written is void."""
        ...


@final
class Takeovers:
    """Told of ports, lets spares take over. CutOffError, from a callback of its floor, when none is left."""

    def __init__(self, floor: _Floor, plan: Plan, policy: SparePolicy, *, processing_ps: int) -> None:
        self._floor = floor
        self._plan = plan
        self._policy = policy
        self._delay_ps = processing_ps + policy.migrate_ps
        self._pairs = tuple(plan.routes)
        self._pending: set[str] = set()
        self.standby = Standby(plan.fabric)
        self.done: list[TakenOver] = []

    def on_port(self, node: str, port: int, up: bool) -> None:
        """A port of a node was found to be up or down."""
        gone = self.standby.on_port(node, port, up)
        if gone is None or gone in self._pending or not self._policy.active():
            return
        self._pending.add(gone)
        now = self._floor.now_ps
        self._floor.at(now + self._delay_ps, lambda: self._take_over(gone, now))

    def _take_over(self, lost: str, detected_ps: int) -> None:
        self._pending.discard(lost)
        standby, now = self.standby, self._floor.now_ps
        if not standby.is_gone(lost):
            return
        spare = standby.spare_for(lost)
        if spare is None:
            raise CutOffError(now, standby.gone(), standby.why_none(lost))
        npu = standby.replace(lost, spare)
        pairs = {(standby.holder(source), standby.holder(far)) for source, far in self._pairs}
        demand = self._policy.demand
        if demand is not None:
            demand = {(standby.holder(one), standby.holder(far)): size for (one, far), size in demand.items()}
        try:
            self._plan, updates = takeover(
                self._plan,
                lost,
                spare,
                down=standby.down,
                peers=[pair for pair in pairs if pair[0] != pair[1]],
                demand=demand,
                installed=self._floor.installed(),
            )
        except PlanError as ex:
            raise CutOffError(now, (lost,), f"{spare} cannot take over: {ex}") from ex
        self._floor.adopt(self._plan, updates)
        self.done.append(TakenOver(npu, spare, lost, detected_ps, now, sum(map(len, updates.values()))))
        self._policy.resume(npu, spare)
