# SPDX-License-Identifier: Apache-2.0
"""The question `frames` of a page: the last frames that crossed a link; `follow` can then follow one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import ScenarioError
from harness.recording.frames import receiving_end
from railyard.web.context import Context

__all__ = ["frames_of_link"]


def frames_of_link(context: Context, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the last frames of the link `values["name"]` in a live run.

    A frame has its number, time in ps, sender, receiver, length, and a description.

    Raises:
        ScenarioError: No run is in progress, or the link does not exist.
    """
    if context.testbed is None:
        raise ScenarioError(
            "no run is in progress, so there are no frames", remedy="ask while a live run is in progress"
        )
    testbed, name = context.testbed, str(values.get("name"))
    if name not in testbed.link_names:
        raise ScenarioError(f"the fabric has no link named {name!r}", remedy="click a link of the fabric")
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
