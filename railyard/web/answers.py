# SPDX-License-Identifier: Apache-2.0
"""Questions that a page may ask, by name: each function gets the context and the values of the question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import ScenarioError
from railyard.web.context import Context
from railyard.web.crossings import frames_of_link
from railyard.web.follow import follow_frame

__all__ = ["ANSWERS", "Answer", "answer"]


Answer = Callable[[Context, Mapping[str, Any]], Mapping[str, Any]]


def _link(context: Context, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return counters and waiting bytes by VL of both directions of a link."""
    if context.testbed is None:
        raise ScenarioError("no run is under way", remedy="counters of a link belong to a live run")
    testbed, name = context.testbed, str(values.get("name"))
    usage = testbed.link_usage().get(name)
    if usage is None:
        raise ScenarioError(f"no link named {name!r}", remedy="click a link of the fabric")
    return {
        "name": name,
        "directions": [
            {
                "frames": way.frames,
                "bytes": way.bytes,
                "lost": way.lost_frames,
                "refused": way.refused_frames,
                "most_queued": way.max_queued_bytes,
                "queued": {str(vl): waiting for vl, waiting in testbed.queued(name, number).items()},
            }
            for number, way in enumerate(usage)
        ],
    }


ANSWERS: dict[str, Answer] = {"link": _link, "frames": frames_of_link, "follow": follow_frame}
"""Every question by its name. Functions run in the thread of the run, between two ticks."""


def answer(context: Context, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer to a question; a RailyardError if there is none."""
    what = values.get("what")
    if what not in ANSWERS:
        raise ScenarioError(f"no question named {what!r}", remedy=f"there are {', '.join(ANSWERS)}")
    return ANSWERS[what](context, values)
