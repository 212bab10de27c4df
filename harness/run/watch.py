# SPDX-License-Identifier: Apache-2.0
"""Watchers of a run: they look at a variant tick by tick, and may strike it with faults by hand.

In virtual time looking changes nothing: the result of a watched run is that of the run that nobody watches,
byte for byte. A fault by hand happens at a time at which nothing else does, so that a scenario with that
fault at that time repeats the run exactly. In real time a look takes processor time, and no run repeats
another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, final

from pydantic import ValidationError

from emulation.control.loop import ControlLoop
from emulation.faults import EVENTS, Faults, unmatched_clears
from emulation.faults import Fault as TestbedFault
from emulation.testbed import WatchableTestbed
from harness.errors import ScenarioError
from harness.run.jobs.running import Jobs
from harness.run.memory_pool.running import PoolRun
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from harness.run.watchdog import Watchdog
from harness.scenario.schema import Fault, Scenario

__all__ = ["WatchedRun", "Watcher", "fault_by_hand"]


class Watcher(Protocol):
    """Watches the variants of a run, one after the other."""

    def open(self, scenario: Scenario, seed: int, prepared: Sequence[Prepared]) -> None:
        """Note that a run of these variants begins."""
        ...

    def begin(self, run: WatchedRun) -> None:
        """Note that time begins to pass; here a watcher sets `run.testbed.watch` and its callbacks."""
        ...

    def end(self, run: WatchedRun, seen: Observation) -> None:
        """Note that a variant has ended."""
        ...

    def close(self) -> None:
        """Note that the run has ended with a result."""
        ...


@final
class WatchedRun:
    """A variant while it runs; `struck` are the faults by hand, in their order."""

    def __init__(
        self,
        ready: Prepared,
        testbed: WatchableTestbed,
        jobs: Jobs | PoolRun,
        control: ControlLoop,
        faults: Faults,
        watchdog: Watchdog,
    ) -> None:
        self._ready = ready
        self.testbed = testbed
        self.jobs = jobs
        self.control = control
        self.faults = faults
        self.struck: tuple[Fault, ...] = ()
        self._watchdog = watchdog

    @property
    def ready(self) -> Prepared:
        """The variant, with the faults of its scenario and those by hand."""
        return self._ready

    @property
    def name(self) -> str:
        """Name of the variant."""
        return self._ready.variant.name

    @property
    def busy(self) -> bool:
        """True while a job sends or will send."""
        return self.jobs.busy

    def strike(self, keys: Mapping[str, Any]) -> Fault:
        """Apply a fault now, from a tick; return it with its time, as a scenario file has it.

        Args:
            keys: Keys of a fault in a scenario but `at_us`: a target, `event` and its parameters.

        Raises:
            RailyardError: There is no such target or event, or the event would change nothing.
        """
        # Virtual time advances only for a fault that can happen.
        self._checked(keys, self.testbed.now_ps + 1)
        self.testbed.settle()
        # Real time may not have begun; no fault of a scenario is earlier than this.
        fault, ready = self._checked(keys, max(1, self.testbed.now_ps))
        self.testbed.check_event(fault.event)
        self._ready = ready
        self.struck = (*self.struck, fault)
        resolved = _resolved(ready, fault)
        self._watchdog.expect(resolved)
        self.faults.apply(resolved)
        return fault

    def _checked(self, keys: Mapping[str, Any], now_ps: int) -> tuple[Fault, Prepared]:
        fault = fault_by_hand(keys, now_ps)
        ready = self._ready.with_faults((*self._ready.variant.faults, fault))
        resolved = _resolved(ready, fault)
        if fault.event == "down" and self._is_down(resolved.target.name, now_ps):
            raise ScenarioError(f"{resolved.target.name} is down already", remedy="take it up first")
        if any(ready.faults[number] is resolved for number in unmatched_clears(ready.faults)):
            state = "down" if fault.event == "up" else "impaired"
            raise ScenarioError(
                f"{resolved.target.name} is not {state}", remedy="name the target as the earlier fault does"
            )
        return fault, ready

    def _is_down(self, target: str, now_ps: int) -> bool:
        """Return whether the last event that took a target down or up took it down."""
        down = False
        for fault in self._ready.faults:
            if fault.at_ps > now_ps or fault.target.name != target or EVENTS[fault.event].impairs is not None:
                continue
            down = fault.event == "down" or (fault.event == "flap" and now_ps < fault.end_ps)
        return down


def fault_by_hand(keys: Mapping[str, Any], now_ps: int) -> Fault:
    """Return a fault at a time, of the keys that a scenario has; a ScenarioError names a wrong key."""
    try:
        return Fault.model_validate({**keys, "at_us": now_ps / 10**6})
    except ValidationError as ex:
        first = ex.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "fault"
        raise ScenarioError(f"{place}: {first['msg']}", remedy="see docs/use/faults.md") from None


def _resolved(ready: Prepared, fault: Fault) -> TestbedFault:
    """Return the resolved form of the variant's last fault, `fault`."""
    alone = ready.with_faults((fault,)).faults[0]
    return next(other for other in reversed(ready.faults) if other == alone)
