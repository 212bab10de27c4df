# SPDX-License-Identifier: Apache-2.0
"""Cache of the frames last shown on pages, within bounded memory."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import final

from emulation.testbed import RecentFrame, WatchableTestbed
from harness.errors import ScenarioError
from harness.recording.frames import frame_words

__all__ = ["LinkFrames"]

# Largest number of links whose frames are kept, largest number of frames that can still be followed, and
# seconds after the last question of a page at which the frames of a link are dropped.
_MOST_LINKS = 8
_MOST_FRAMES = 256
_PATIENCE = 10.0


@final
class LinkFrames:
    """Links about which pages have asked, and the frames that pages have seen, within bounded memory."""

    def __init__(self) -> None:
        self._asked: dict[str, float] = {}
        self._shown: dict[tuple[str, int], tuple[RecentFrame, str]] = {}

    def recent(self, testbed: WatchableTestbed, link: str) -> Iterable[tuple[RecentFrame, str]]:
        """Yield the last frames of a link, each with a description.

        The testbed keeps the frames of few links; the link with the oldest question is dropped.
        """
        self._asked.pop(link, None)
        if len(self._asked) >= _MOST_LINKS:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            testbed.forget(oldest)
        self._asked[link] = time.monotonic()
        for frame in testbed.recent(link):
            before = self._shown.pop((link, frame.number), None)
            # Reuse descriptions, because parsing headers is slow and a page asks repeatedly for equal frames.
            words = before[1] if before and before[0] == frame else frame_words(testbed.fabric, frame.frame)
            self._shown[link, frame.number] = frame, words
            yield frame, words
        while len(self._shown) > _MOST_FRAMES:
            del self._shown[next(iter(self._shown))]

    def shown(self, link: str, number: int) -> RecentFrame:
        """Return a frame that a page has seen.

        Raises:
            ScenarioError: The frame is no longer kept.
        """
        shown = self._shown.get((link, number))
        if shown is None:
            raise ScenarioError(
                f"frame {number} of {link} is no longer kept", remedy="pick another frame of the list"
            )
        return shown[0]

    def expire(self, testbed: WatchableTestbed) -> None:
        """Drop the frames of links about which no page has asked for some seconds."""
        limit = time.monotonic() - _PATIENCE
        for link in [link for link, asked in self._asked.items() if asked < limit]:
            del self._asked[link]
            testbed.forget(link)
