# SPDX-License-Identifier: Apache-2.0
"""Questions that a page may ask, by name, each with the function that answers it."""

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
    """Return the counters of both directions of the link `values["name"]`, and waiting bytes by VL."""
    if context.testbed is None:
        raise ScenarioError(
            "no run is in progress, so links have no counters", remedy="ask while a live run is in progress"
        )
    testbed, name = context.testbed, str(values.get("name"))
    usage = testbed.link_usage().get(name)
    if usage is None:
        raise ScenarioError(f"the fabric has no link named {name!r}", remedy="click a link of the fabric")
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
"""Function that answers each question, by name; it runs in the thread of the run, between two ticks."""


def answer(context: Context, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer to the question `values["what"]`.

    Raises:
        RailyardError: The question is unknown, or has no answer now.
    """
    what = values.get("what")
    if what not in ANSWERS:
        raise ScenarioError(f"there is no question named {what!r}", remedy=f"ask {', '.join(ANSWERS)}")
    return ANSWERS[what](context, values)
