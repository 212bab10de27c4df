# SPDX-License-Identifier: Apache-2.0
"""The values that answers to questions of a page use."""

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
    """Values that answers may use: prepared variants; while a run is held, the run and its testbed."""

    prepared: Sequence[Prepared] = ()
    testbed: WatchableTestbed | None = field(default=None)
    run: object | None = None
    frames: LinkFrames = field(default_factory=LinkFrames)

    def variant(self, name: str) -> Prepared:
        """Return a prepared variant; a ScenarioError names those that exist."""
        for ready in self.prepared:
            if ready.variant.name == name:
                return ready
        known = ", ".join(ready.variant.name for ready in self.prepared) or "none, this is a recording"
        raise ScenarioError(f"no variant named {name!r}", remedy=f"there are {known}")
