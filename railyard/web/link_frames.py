# SPDX-License-Identifier: Apache-2.0
"""The last frames that crossed the links at which pages look, within bounded memory."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import final

from emulation.testbed import RecentFrame, WatchableTestbed
from harness.errors import ScenarioError
from harness.recording.frames import frame_words

__all__ = ["LinkFrames"]

# Links whose frames are kept at a time; frames that can still be followed; seconds after the last question.
_MOST_LINKS = 8
_MOST_FRAMES = 256
_PATIENCE = 10.0


@final
class LinkFrames:
    """Links whose frames pages look at, and the frames that pages have seen, within bounded memory."""

    def __init__(self) -> None:
        self._asked: dict[str, float] = {}
        self._shown: dict[tuple[str, int], tuple[RecentFrame, str]] = {}

    def recent(self, testbed: WatchableTestbed, link: str) -> Iterable[tuple[RecentFrame, str]]:
        """Yield the last frames of a link, and their words; the testbed keeps those of few links."""
        self._asked.pop(link, None)
        if len(self._asked) >= _MOST_LINKS:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            testbed.forget(oldest)
        self._asked[link] = time.monotonic()
        for frame in testbed.recent(link):
            before = self._shown.pop((link, frame.number), None)
            # To read the headers of a frame takes long, and a page asks for the same frames again.
            words = before[1] if before and before[0] == frame else frame_words(testbed.fabric, frame.frame)
            self._shown[link, frame.number] = frame, words
            yield frame, words
        while len(self._shown) > _MOST_FRAMES:
            del self._shown[next(iter(self._shown))]

    def shown(self, link: str, number: int) -> RecentFrame:
        """Return a frame that a page has seen; a ScenarioError if that was too long ago."""
        shown = self._shown.get((link, number))
        if shown is None:
            raise ScenarioError(f"frame {number} of {link} is gone", remedy="pick another of the list")
        return shown[0]

    def expire(self, testbed: WatchableTestbed) -> None:
        """Keep no longer the frames of links that no page has asked about for a while."""
        limit = time.monotonic() - _PATIENCE
        for link in [link for link, asked in self._asked.items() if asked < limit]:
            del self._asked[link]
            testbed.forget(link)
