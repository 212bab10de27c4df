# SPDX-License-Identifier: Apache-2.0
"""Round trips of a connection's paths beside those that the paths would have if nothing else used them.

A source knows the rates and delays of the links of its paths (PathTiming) and the frames that it has sent
itself. The expected round trip of a frame is the time that it waits for the connection's own frames on the
slowest link, its own transmission, and the way of the acknowledgement. A ratio far above 1 means that a link
is slower than its rate, or that other traffic shares it.

An acknowledgement may wait for further frames, unless its frame asks for an immediate one. A frame that does
not ask counts only if its round trip is high even without that wait.
"""

from collections.abc import Sequence
from typing import Final, final

from emulation.traffic.host.path_choice import PathTiming
from emulation.traffic.host.transport import MAX_WINDOW

__all__ = ["UNIT", "IdleRatios"]

# Ratios are counted in parts of this size.
UNIT: Final = 16
# Part of the expected round trip by which a round trip may be longer.
_MARGIN: Final = 4
# Ratio from which a frame counts whose acknowledgement may have waited.
_HIGH: Final = 3 * UNIT // 2


@final
class IdleRatios:
    """Measured round trips of paths as multiples of the expected ones, smoothed; times are ps."""

    __slots__ = ("_ack_delay", "_ahead", "_asked", "_expected", "_ratios", "_sizes", "_timings")

    def __init__(self, timings: Sequence[PathTiming], ack_delay: int) -> None:
        self._timings = timings
        self._ack_delay = ack_delay
        self._ratios: dict[int, int] = {}  # by path
        self._ahead: dict[int, int] = {}  # by path, bytes of payload under way
        self._expected = [0] * MAX_WINDOW  # by slot, the expected round trip; 0: unknown
        self._asked = [False] * MAX_WINDOW  # by slot, whether the frame asks for an acknowledgement
        self._sizes = [0] * MAX_WINDOW  # by slot, bytes of payload

    def knows(self, path: int) -> bool:
        """Return whether the links of a path are known."""
        return path < len(self._timings)

    def ratio(self, path: int) -> int:
        """Return the smoothed ratio of a path in parts of UNIT; 0 before the first measurement."""
        return self._ratios.get(path, 0)

    def least(self, paths: Sequence[int]) -> int:
        """Return the smallest ratio of these paths that has been measured; 0 if none has."""
        return min((ratio for path in paths if (ratio := self.ratio(path))), default=0)

    def new_frame(self, slot: int, size: int, asks: bool) -> None:
        """Note the payload of a frame that is about to leave, and whether it asks for an acknowledgement."""
        self._sizes[slot], self._asked[slot] = size, asks

    def sent(self, slot: int, path: int) -> None:
        """Note that a frame leaves by a path."""
        if not self.knows(path):
            self._expected[slot] = 0
            return
        timing, size = self._timings[path], self._sizes[slot]
        ahead = self._ahead.get(path, 0)
        self._expected[slot] = (
            timing.headers_ps + (timing.kib_ps * size + timing.narrowest_kib_ps * ahead) // 1024
        )
        self._ahead[path] = ahead + size

    def ended(self, slot: int, path: int) -> None:
        """Note that a frame is no longer under way on its path."""
        if self.knows(path):
            self._ahead[path] -= self._sizes[slot]

    def longest(self, slot: int) -> int:
        """Return the longest round trip that the connection's own frames explain; 0 if it is unknown."""
        expected = self._expected[slot]
        return expected + expected // _MARGIN + self._ack_delay if expected else 0

    def measured(self, slot: int, path: int, rtt: int, afresh: bool) -> None:
        """Take the round trip of a frame; `afresh` forgets earlier ones of its path."""
        expected, before = self._expected[slot], self.ratio(path)
        if not expected:
            return
        if self._asked[slot]:
            ratio = UNIT * rtt // expected
        else:
            ratio = UNIT * rtt // (expected + self._ack_delay)
            if ratio <= (before or _HIGH):
                return
        ratio = max(ratio, 1)
        self._ratios[path] = (3 * before + ratio) // 4 if before and not afresh else ratio
