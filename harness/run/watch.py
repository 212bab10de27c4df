# SPDX-License-Identifier: Apache-2.0
"""Watchers of a run: they observe a variant tick by tick and may apply faults by hand.

In virtual time watching never changes a run: its result is equal byte for byte to that of an unwatched run. A
fault by hand happens at a time without any other event, so a scenario with that fault at that time repeats
the run exactly. In real time watching takes processor time, and no run repeats another exactly.
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
from topologies import Fabric

__all__ = ["WatchedRun", "Watcher", "fault_by_hand"]


class Watcher(Protocol):
    """Watches the variants of a run, one after the other."""

    def check(self, fabric: Fabric) -> None:
        """Raise a ScenarioError if the fabric lacks something to be watched; called before planning."""
        ...

    def open(self, scenario: Scenario, seed: int, prepared: Sequence[Prepared]) -> None:
        """Handle the start of a run of the variants `prepared`."""
        ...

    def begin(self, run: WatchedRun) -> None:
        """Handle the start of a variant, before time passes: set `run.testbed.watch` and other callbacks."""
        ...

    def end(self, run: WatchedRun, seen: Observation) -> None:
        """Handle the end of a variant; `seen` is its observation."""
        ...

    def close(self) -> None:
        """Handle the end of a run; not called for a run without a result."""
        ...


@final
class WatchedRun:
    """A variant while it runs, with its testbed, jobs and controllers.

    `struck` has the faults by hand so far, in the order of time.
    """

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
        """The prepared variant; its faults include faults applied by hand so far."""
        return self._ready

    @property
    def name(self) -> str:
        """Name of the variant."""
        return self._ready.variant.name

    @property
    def busy(self) -> bool:
        """True until all jobs have begun and sent all their data."""
        return self.jobs.busy

    def strike(self, keys: Mapping[str, Any]) -> Fault:
        """Apply a fault now, and return it with its time, as a fault of a scenario file.

        Call this method from a tick of the testbed.

        Args:
            keys: Keys of a fault in a scenario except `at_us`: a target, `event` and its parameters.

        Raises:
            RailyardError: The target or event does not exist, or the event would change nothing.
        """
        # Check first, because `settle` advances virtual time, and a refused fault must not change the run.
        self._checked(keys, self.testbed.now_ps + 1)
        self.testbed.settle()
        # In real time the clock may still be 0, but a scenario requires fault times above 0.
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
            raise ScenarioError(
                f"{resolved.target.name} is already down", remedy="apply the event `up` to it first"
            )
        if any(ready.faults[number] is resolved for number in unmatched_clears(ready.faults)):
            state = "down" if fault.event == "up" else "impaired"
            raise ScenarioError(
                f"{resolved.target.name} is not {state}", remedy="name the target as the earlier fault does"
            )
        return fault, ready

    def _is_down(self, target: str, now_ps: int) -> bool:
        """Return whether a target is down at `now_ps`, by its last transition down or up."""
        down = False
        for fault in self._ready.faults:
            if fault.at_ps > now_ps or fault.target.name != target or EVENTS[fault.event].impairs is not None:
                continue
            down = fault.event == "down" or (fault.event == "flap" and now_ps < fault.end_ps)
        return down


def fault_by_hand(keys: Mapping[str, Any], now_ps: int) -> Fault:
    """Return the fault at `now_ps` with the given keys of a scenario file.

    Raises:
        ScenarioError: A key or value is wrong; the message names the key.
    """
    try:
        return Fault.model_validate({**keys, "at_us": now_ps / 10**6})
    except ValidationError as ex:
        first = ex.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "fault"
        raise ScenarioError(
            f"the key {place} of the fault is invalid: {first['msg']}",
            remedy="correct it; docs/use/faults.md describes the keys",
        ) from None


def _resolved(ready: Prepared, fault: Fault) -> TestbedFault:
    """Return the last fault of `ready.faults` equal to `fault`; its target is resolved in the fabric."""
    alone = ready.with_faults((fault,)).faults[0]
    return next(other for other in reversed(ready.faults) if other == alone)
