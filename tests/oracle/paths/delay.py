# SPDX-License-Identifier: Apache-2.0
"""Choice of paths by congestion, at the source (All-Path-Routing, strategy `adaptive`).

A sender measures the round trip of each path and counts the frames under way on it. A path is congested if
its round trip is more than 2.5 times the mean of all other paths of the agent, to any destination. Frames
leave a congested path for the path that promises the shortest delay, if that is less than half: the frames
under way on a path times the time that it takes for each of them (Little's law). All other frames keep the
shares of the plan: a path loses frames only while it stands out, so shares do not swing.

The source of a single path in use has no other path to compare with. If the round trip of a path is more than
6 times the expected one (tests.oracle.paths.idle), the path is slow: the next frame goes by another
permitted path as a trial, one frame at a time. A path whose ratio turns out 2.5 times smaller is taken into
use, and the slow path is congested. Trials do not count in the mean: an idle path says nothing about the load
of the others. If all paths in use are slow, few frames may be under way on each of
them: a queue on a slow link also keeps frames of other paths waiting at the source's own port.

Switches may mark frames that leave a long queue, and acknowledgements say on which buckets marked frames have
arrived. A path whose last frames were marked is congested as soon as its round trip is longer than the mean,
if the last frames of another path of the connection were not.

Frames that wait on a congested path for longer than the mean round trip, and for longer than the frames of
the connection before them explain, go again by another path. Their copies still occupy the congested path, so
the delay to expect counts them until they have drained.
"""

from collections.abc import Sequence
from typing import Final, final

from emulation.traffic.host.path_choice import BUCKETS, PathTiming
from emulation.traffic.host.transport import MAX_WINDOW
from tests.oracle.paths.idle import UNIT, IdleRatios
from tests.oracle.paths.spray import PathHealth, RoundTrips

__all__ = ["PathDelays"]

# A path is congested above so many halves of the mean round trip, or of the ratio, of the others.
_CONGESTED_HALVES: Final = 5
# Ratio of the measured to the expected round trip above which a path is slow.
_SLOW: Final = 6 * UNIT
# Most frames under way on a slow path while no other path is better.
_MOST_ON_SLOW: Final = 8


@final
class PathDelays:
    """Delays to expect on the paths of a connection. Times are picoseconds."""

    __slots__ = (
        "_copies",
        "_counted",
        "_depths",
        "_each",
        "_idle",
        "_marked",
        "_paths",
        "_rtt",
        "_slow",
        "_trials",
        "_trips",
        "_under_way",
    )

    def __init__(self, trips: RoundTrips, timings: Sequence[PathTiming] = (), ack_delay: int = 0) -> None:
        self._trips = trips
        self._idle = IdleRatios(timings, ack_delay)
        self._under_way: dict[int, int] = {}  # by path, frames
        self._rtt: dict[int, int] = {}  # by measured path, smoothed round trip
        self._each: dict[int, int] = {}  # by measured path, time for a frame
        self._copies: dict[int, int] = {}  # by path, when copies of frames that went again have drained
        self._counted: set[int] = set()  # paths whose round trips count in the mean of the agent
        self._slow: set[int] = set()  # paths whose ratio is high
        self._trials: set[int] = set()  # paths on trial
        self._marked: set[int] = set()  # paths whose last frames were marked
        self._paths = [0] * MAX_WINDOW  # by slot, the path of a frame under way
        self._depths = [0] * MAX_WINDOW  # by slot, frames on the path when the frame left; 0: not under way

    def new_frame(self, slot: int, path: int, size: int, asks: bool) -> None:
        """Note that a new frame leaves, with so many bytes; `asks` for an immediate acknowledgement."""
        self.ended(slot)
        self._idle.new_frame(slot, size, asks)
        self.sent(slot, path)

    def sent(self, slot: int, path: int) -> None:
        """Note that a frame leaves; it is under way on this path only."""
        self.ended(slot)
        self._under_way[path] = self._depths[slot] = self._under_way.get(path, 0) + 1
        self._paths[slot] = path
        self._idle.sent(slot, path)

    def goes_again(self, slot: int, now: int) -> None:
        """Note that a frame goes again; if it leaves a congested path, its copy stays there for a time."""
        path = self._paths[slot]
        if self._depths[slot] and self.congested(path):
            self._copies[path] = max(self._copies.get(path, 0), now) + self._each.get(path, 0)

    def ended(self, slot: int) -> None:
        """Note that a frame is no longer under way."""
        if self._depths[slot]:
            path = self._paths[slot]
            self._under_way[path] -= 1
            self._depths[slot] = 0
            self._idle.ended(slot, path)

    def note_mark(self, path: int, marked: int) -> None:
        """Note whether the last frames that arrived by a path were marked by a switch."""
        if marked:
            self._marked.add(path)
        else:
            self._marked.discard(path)

    def measured(self, slot: int, rtt: int) -> None:
        """Take the round trip of a frame that is under way still, sent once."""
        path, depth = self._paths[slot], self._depths[slot]
        if not depth:
            return
        before = self._rtt.get(path)
        afresh = path in self._trials
        if before is None and not afresh:
            self._counted.add(path)
            self._trips.paths += 1
        if before is None or afresh:
            self._rtt[path], self._each[path] = rtt, rtt // depth
        else:
            self._rtt[path] = (3 * before + rtt) // 4
            self._each[path] = (3 * self._each[path] + rtt // depth) // 4
        if path in self._counted:
            self._trips.total += self._rtt[path] - (before or 0)
        self._compare(slot, path, rtt, afresh)

    def _compare(self, slot: int, path: int, rtt: int, afresh: bool) -> None:
        idle = self._idle
        idle.measured(slot, path, rtt, afresh)
        if idle.ratio(path) > _SLOW:
            self._slow.add(path)
        else:
            self._slow.discard(path)
        if afresh and (not idle.knows(path) or self._is_better(path)):
            self._trials.discard(path)

    def _is_better(self, path: int) -> bool:
        """Return whether a path on trial is much better than some slow path."""
        ratio = _CONGESTED_HALVES * self._idle.ratio(path)
        return any(ratio < 2 * self._idle.ratio(slow) for slow in self._slow)

    def expected(self, path: int, now: int) -> int:
        """Return the delay of another frame on a path; a path without measurements is taken as typical."""
        waiting = (self._under_way.get(path, 0) + 1) * self._each.get(path, self._trips.typical)
        return waiting + max(0, self._copies.get(path, 0) - now)

    def congested(self, path: int) -> bool:
        """Return whether frames should leave a path."""
        rtt, trips = self._rtt.get(path, 0), self._trips
        if path in self._marked and rtt > trips.typical and not self._marked.issuperset(self._in_use()):
            return True
        if path in self._counted and 2 * rtt * (trips.paths - 1) > _CONGESTED_HALVES * (trips.total - rtt):
            return True
        if path not in self._slow:
            return False
        least = self._idle.least([other for other in self._in_use() if other != path])
        return bool(least) and 2 * self._idle.ratio(path) > _CONGESTED_HALVES * least

    def has_room(self, health: PathHealth) -> bool:
        """Return whether another frame may leave; few frames may be under way where all paths are slow."""
        if not self._slow:
            return True
        in_use = [path for path in self._in_use() if health.works(path)]
        under_way = sum(self._under_way.get(path, 0) for path in in_use)
        if not self._slow.issuperset(in_use) or under_way < _MOST_ON_SLOW * max(len(in_use), 1):
            return True
        return self._trial(0, health) is not None

    def _in_use(self) -> list[int]:
        """Return the paths that have measurements and are not on trial."""
        return [path for path in self._rtt if path not in self._trials]

    def _trial(self, lb: int, health: PathHealth) -> int | None:
        """Return a load-balance value of a working path that has no measurements, or is on trial; or None."""
        for turn in range(1, BUCKETS + 1):
            bucket = (lb + turn) % BUCKETS
            path = health.paths[bucket]
            unknown = path not in self._rtt or path in self._trials
            if unknown and not self._under_way.get(path, 0) and health.works(path):
                return bucket
        return None

    def steer(self, lb: int, health: PathHealth, now: int) -> tuple[int, bool]:
        """Return the load-balance value of a new frame, and whether it has to ask for an acknowledgement."""
        path = health.paths[lb % BUCKETS]
        if path in self._slow and len(self._in_use()) == 1:
            bucket = self._trial(lb, health)
            if bucket is not None:
                self._trials.add(health.paths[bucket])
                return bucket, True
        return self.choose(lb, health, now), False

    def choose(self, lb: int, health: PathHealth, now: int) -> int:
        """Return the load-balance value of a frame whose share names the path of `lb`."""
        path = health.paths[lb % BUCKETS]
        if not self.congested(path):
            return lb
        best, least = lb, self.expected(path, now) // 2
        for turn in range(1, BUCKETS):
            bucket = (lb + turn) % BUCKETS
            other = health.paths[bucket]
            if other == path or other in self._trials or not health.works(other):
                continue
            if (delay := self.expected(other, now)) < least:
                best, least = bucket, delay
        return best

    def patience(self, slot: int, floor: int) -> int:
        """Return for how long a frame may be under way on a congested path before it goes again."""
        return max(floor, self._trips.typical, self._idle.longest(slot))
