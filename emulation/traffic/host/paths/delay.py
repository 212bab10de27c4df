# SPDX-License-Identifier: Apache-2.0
"""Choice of paths by congestion, at the source (All-Path-Routing, strategy `adaptive`).

A sender measures the round trip of each path and counts the frames under way on it. A path is congested if
its round trip is more than 2.5 times the mean of all other paths of the agent, to any destination. Frames
leave a congested path for the path that promises the shortest delay, if that is less than half: the frames
under way on a path times the time that it takes for each of them (Little's law). Frames that wait on a
congested path for longer than the mean round trip go again by another path. All other frames keep the shares
of the plan: a path loses frames only while it stands out, so shares do not swing.
"""

from typing import Final, final

from emulation.traffic.host.paths.choice import BUCKETS
from emulation.traffic.host.paths.spray import PathHealth, RoundTrips
from emulation.traffic.host.transport import MAX_WINDOW

__all__ = ["PathDelays"]

# A path is congested above so many halves of the mean round trip of the others.
_CONGESTED_HALVES: Final = 5


@final
class PathDelays:
    """Delays to expect on the paths of a connection. Times are picoseconds."""

    __slots__ = ("_depths", "_each", "_paths", "_rtt", "_trips", "_under_way")

    def __init__(self, trips: RoundTrips) -> None:
        self._trips = trips
        self._under_way: dict[int, int] = {}  # by path, frames
        self._rtt: dict[int, int] = {}  # by measured path, smoothed round trip
        self._each: dict[int, int] = {}  # by measured path, time for a frame
        self._paths = [0] * MAX_WINDOW  # by slot, the path of a frame under way
        self._depths = [0] * MAX_WINDOW  # by slot, frames on the path when the frame left; 0: not under way

    def sent(self, slot: int, path: int) -> None:
        """Note that a frame leaves; it is under way on this path only."""
        self.ended(slot)
        self._under_way[path] = self._depths[slot] = self._under_way.get(path, 0) + 1
        self._paths[slot] = path

    def ended(self, slot: int) -> None:
        """Note that a frame is no longer under way."""
        if self._depths[slot]:
            self._under_way[self._paths[slot]] -= 1
            self._depths[slot] = 0

    def measured(self, slot: int, rtt: int) -> None:
        """Take the round trip of a frame that is under way still, sent once."""
        path, depth = self._paths[slot], self._depths[slot]
        if not depth:
            return
        before = self._rtt.get(path)
        if before is None:
            self._trips.paths += 1
            self._rtt[path], self._each[path] = rtt, rtt // depth
        else:
            self._rtt[path] = (3 * before + rtt) // 4
            self._each[path] = (3 * self._each[path] + rtt // depth) // 4
        self._trips.total += self._rtt[path] - (before or 0)

    def expected(self, path: int) -> int:
        """Return the delay of another frame on a path; a path without measurements is taken as typical."""
        return (self._under_way.get(path, 0) + 1) * self._each.get(path, self._trips.typical)

    def congested(self, path: int) -> bool:
        """Return whether frames should leave a path."""
        rtt, trips = self._rtt.get(path, 0), self._trips
        return 2 * rtt * (trips.paths - 1) > _CONGESTED_HALVES * (trips.total - rtt)

    def choose(self, lb: int, health: PathHealth) -> int:
        """Return the load-balance value of a frame whose share names the path of `lb`."""
        path = health.paths[lb % BUCKETS]
        if not self.congested(path):
            return lb
        best, least = lb, self.expected(path) // 2
        for turn in range(1, BUCKETS):
            bucket = (lb + turn) % BUCKETS
            other = health.paths[bucket]
            if other != path and health.works(other) and (delay := self.expected(other)) < least:
                best, least = bucket, delay
        return best

    def patience(self, floor: int) -> int:
        """Return for how long a frame may be under way on a congested path before it goes again."""
        return max(floor, self._trips.typical)
