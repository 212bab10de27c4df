# SPDX-License-Identifier: Apache-2.0
"""The values used to answer the questions of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from emulation.testbed import WatchableTestbed
from harness.errors import ScenarioError
from harness.run.prepare import Prepared
from railyard.web.link_frames import LinkFrames

__all__ = ["Context"]


@final
@dataclass(slots=True)
class Context:
    """Values used to answer the questions of pages.

    Attributes:
        prepared: Prepared variants of the scenario.
        testbed: Testbed of the run, between two ticks of a run; else None.
        run: The run itself, between two ticks of a run; else None.
        frames: Frames that pages have seen.
    """

    prepared: Sequence[Prepared] = ()
    testbed: WatchableTestbed | None = field(default=None)
    run: object | None = None
    frames: LinkFrames = field(default_factory=LinkFrames)

    def variant(self, name: str) -> Prepared:
        """Return the prepared variant `name`; raise a ScenarioError with the known names if it is missing."""
        for ready in self.prepared:
            if ready.variant.name == name:
                return ready
        known = ", ".join(ready.variant.name for ready in self.prepared)
        remedy = f"choose among {known}" if known else "open a live run, because a recording has no plans"
        raise ScenarioError(f"no variant named {name!r} is prepared", remedy=remedy)
