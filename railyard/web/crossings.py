# SPDX-License-Identifier: Apache-2.0
"""The question `frames`: the last frames that crossed a link, one of which may then be followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import ScenarioError
from harness.recording.frames import receiving_end
from railyard.web.context import Context

__all__ = ["frames_of_link"]


def frames_of_link(context: Context, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the last frames of a link with number, time in ps, sender, receiver, length and words."""
    if context.testbed is None:
        raise ScenarioError("no run is under way", remedy="frames of a link belong to a live run")
    testbed, name = context.testbed, str(values.get("name"))
    if name not in testbed.link_names:
        raise ScenarioError(f"no link named {name!r}", remedy="click a link of the fabric")
    fabric = testbed.fabric
    return {
        "name": name,
        "frames": [
            {
                "number": recent.number,
                "t": recent.time_ps,
                "from": receiving_end(fabric, name, 1 - recent.direction).node,
                "to": receiving_end(fabric, name, recent.direction).node,
                "length": len(recent.frame),
                "words": words,
            }
            for recent, words in context.frames.recent(testbed, name)
        ],
    }
