# SPDX-License-Identifier: Apache-2.0
"""A running fabric of `railyard up` on the page: frames of clients, and faults by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.faults import Fault as TestbedFault
from emulation.faults import Faults
from emulation.testbed import LinkSample
from harness.recording.picture import fabric_picture
from harness.recording.records import FORMAT, VERSION, Kind, Tick, event, json_record
from harness.run.planning.faults import resolved_fault
from harness.run.watch import fault_by_hand
from harness.scenario.schema import Fault
from harness.version import railyard_version
from railyard.web.session import Session

__all__ = ["StandingFabric"]

# Span of the time bar before anything has happened, in ps.
_SPAN_PS = 1_000_000


@final
class StandingFabric:
    """Watches a started testbed for pages; virtual time passes while frames are in flight."""

    busy = False

    def __init__(self, testbed: EmbeddedTestbed) -> None:
        self.testbed = testbed
        self.name = testbed.fabric.name
        self.struck: tuple[Fault, ...] = ()
        self.next_ps = 0
        self.session = Session("live", paused=False)
        self._faults = Faults(testbed)
        self._faults.on_apply = self._on_fault
        self._before: LinkSample | None = None
        self._links = len(testbed.link_names)
        self._open()
        testbed.watch = self

    def tick(self) -> None:
        """Record a tick if anything has changed, and carry out the commands of pages."""
        names = self.testbed.link_names
        if len(names) > self._links:
            self.session.sink(json_record(Kind.LINKS, {"links": list(names[self._links :])}))
            self._links = len(names)
        links = self.testbed.sample()
        if any(links.load) or links != self._before:
            self.session.sink(Tick(self.testbed.now_ps, (), links).record())
        self._before = links
        self.session.hold(self)

    def strike(self, keys: Mapping[str, Any]) -> Fault:
        """Apply a fault now; see WatchedRun.strike."""
        fault = fault_by_hand(keys, self.testbed.now_ps + 1)
        resolved = resolved_fault(self.testbed.fabric, fault)
        self.struck = (*self.struck, fault)
        self._faults.apply(resolved)
        return fault

    def _open(self) -> None:
        name, version = self.name, railyard_version()
        head = {"format": FORMAT, "version": VERSION, "railyard": version, "scenario": name, "title": name}
        head |= {"description": "", "seed": 0, "variants": [{"name": name, "label": name}]}
        self.session.sink(json_record(Kind.HEADER, head))
        self.session.sink(json_record(Kind.FABRIC, fabric_picture(self.testbed.fabric)))
        variant = {"name": name, "label": name, "tick_ps": _SPAN_PS, "bound_ps": _SPAN_PS}
        variant |= {"links": [*self.testbed.link_names], "totals": [], "jobs": [], "planned": []}
        self.session.sink(json_record(Kind.VARIANT, variant))

    def _on_fault(self, fault: TestbedFault) -> None:
        links = [*fault.target.links, *(link for link, _ in fault.target.one_way)]
        self.session.sink(
            event(self.testbed.now_ps, "fault", fault.text, links=links, event=fault.event, by="hand")
        )
