# SPDX-License-Identifier: Apache-2.0
"""Choice of paths by congestion: frames leave a slow path and come back, shares of equal paths stay."""

from collections import Counter, deque

from emulation.traffic.host.paths.choice import BUCKETS
from emulation.traffic.host.paths.delay import PathDelays
from emulation.traffic.host.paths.spray import PathHealth, RoundTrips

WINDOW = 32
PATHS = (0, 1, 2, 3) * 4
BASE = 300_000  # round trip of an idle path, in ps


class Fluid:
    """A sender with a full window over paths that are queues, each with a time for a frame."""

    def __init__(self, each: list[int]) -> None:
        self.each = each
        self.health = PathHealth(PATHS)
        self.delays = PathDelays(RoundTrips())
        self.queues: list[deque[tuple[int, int, int]]] = [deque() for _ in each]  # (done, slot, sent)
        self.free = deque(range(WINDOW))
        self.turn = 0
        self.now = 0

    def run(self, frames: int) -> Counter[int]:
        """Send so many frames, and return the number that each path carried."""
        carried: Counter[int] = Counter()
        while sum(carried.values()) < frames:
            while self.free:
                slot = self.free.popleft()
                path = PATHS[self.delays.choose(self.turn % BUCKETS, self.health) % BUCKETS]
                self.turn += 1
                self.delays.sent(slot, path)
                queue = self.queues[path]
                begin = max(queue[-1][0] if queue else 0, self.now)
                queue.append((begin + self.each[path], slot, self.now))
                carried[path] += 1
            queue = min((queue for queue in self.queues if queue), key=lambda queue: queue[0])
            self.now, slot, sent = queue.popleft()
            self.delays.measured(slot, self.now - sent + BASE)
            self.delays.ended(slot)
            self.free.append(slot)
        return carried


def test_equal_paths_keep_their_shares() -> None:
    assert Fluid([84_000] * 4).run(4000) == {0: 1000, 1: 1000, 2: 1000, 3: 1000}


def test_a_path_of_three_quarters_of_the_rate_carries_three_quarters_of_the_frames_of_others() -> None:
    carried = Fluid([84_000, 84_000, 112_000, 84_000]).run(4000)
    assert 0.7 * carried[0] < carried[2] < 0.85 * carried[0]
    assert carried[0] - 20 < carried[1] < carried[0] + 20


def test_frames_leave_a_slow_path_within_a_few_windows_and_come_back_without_swinging() -> None:
    sender = Fluid([84_000] * 4)
    sender.run(400)
    sender.each[1] = 840_000
    sender.run(4 * WINDOW)
    shares = [sender.run(400)[1] / 400 for _ in range(8)]
    # Static shares are a quarter; the path can carry a thirty-first.
    assert max(shares) < 0.1, shares
    sender.each[1] = 84_000
    sender.run(8 * WINDOW)
    shares = [sender.run(400)[1] / 400 for _ in range(8)]
    assert min(shares) > 0.22, shares
