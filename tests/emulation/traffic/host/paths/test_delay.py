# SPDX-License-Identifier: Apache-2.0
"""Choice of paths by congestion: frames leave a slow path and come back, shares of equal paths stay."""

from collections import Counter, deque
from collections.abc import Sequence

from emulation.traffic.host.path_choice import BUCKETS, PathTiming
from tests.oracle.paths.delay import PathDelays
from tests.oracle.paths.spray import PathHealth, RoundTrips

WINDOW = 32
PATHS = (0, 1, 2, 3) * 4
BASE = 300_000  # round trip of an idle path, in ps


class Fluid:
    """A sender with a full window over paths that are queues, each with a time for a frame.

    Frames take the first `drawn` buckets in turn; the others stand by. A frame that leaves at least
    `marks_from` frames behind it on its path is marked.
    """

    def __init__(
        self,
        each: list[int],
        paths: Sequence[int] = PATHS,
        drawn: int = BUCKETS,
        timings: Sequence[PathTiming] = (),
        marks_from: int | None = None,
    ) -> None:
        self.each = each
        self.marks_from = marks_from
        self.paths = paths
        self.drawn = drawn
        self.health = PathHealth(paths)
        self.delays = PathDelays(RoundTrips(), timings)
        self.queues: list[deque[tuple[int, int, int]]] = [deque() for _ in each]  # (done, slot, sent)
        self.free = deque(range(WINDOW))
        self.turn = 0
        self.now = 0

    def run(self, frames: int) -> Counter[int]:
        """Send so many frames, and return the number that each path carried."""
        carried: Counter[int] = Counter()
        while sum(carried.values()) < frames:
            while self.free and self.delays.has_room(self.health):
                slot = self.free.popleft()
                lb, _ = self.delays.steer(self.turn % self.drawn, self.health, self.now)
                path = self.paths[lb % BUCKETS]
                self.turn += 1
                # Each frame asks for an acknowledgement: it comes when the path has carried the frame.
                self.delays.new_frame(slot, path, 4096, True)
                queue = self.queues[path]
                begin = max(queue[-1][0] if queue else 0, self.now)
                queue.append((begin + self.each[path], slot, self.now))
                carried[path] += 1
            queue = min((queue for queue in self.queues if queue), key=lambda queue: queue[0])
            self.now, slot, sent = queue.popleft()
            if self.marks_from is not None:
                self.delays.note_mark(self.queues.index(queue), int(len(queue) >= self.marks_from))
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


def test_marks_empty_a_path_that_does_not_stand_out_yet() -> None:
    """Twice the time for a frame is less than 2.5 times the mean round trip: only marks tell."""
    each = [84_000, 168_000, 84_000, 84_000]
    blind, marked = Fluid(each), Fluid(each, marks_from=4)
    assert blind.run(4000)[1] > marked.run(4000)[1] > 400
    assert marked.now <= 1.02 * blind.now  # and no path runs dry


def test_marks_on_all_paths_change_nothing() -> None:
    assert Fluid([84_000] * 4, marks_from=0).run(4000) == Fluid([84_000] * 4).run(4000)


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


FRAME_PS = 84_000  # time of a frame on an unimpaired path
# Round trip of BASE, and a frame of 4 KiB that takes FRAME_PS on the path's link.
TIMING = PathTiming(BASE, FRAME_PS // 4, FRAME_PS // 4)
ONE_IN_USE = (0,) * 8 + (1,) * 8


def one_path_in_use(each: list[int]) -> Fluid:
    return Fluid(each, ONE_IN_USE, 8, (TIMING, TIMING))


def test_a_full_window_on_the_only_path_in_use_is_no_congestion() -> None:
    assert one_path_in_use([FRAME_PS, FRAME_PS]).run(2000) == {0: 2000}


def test_a_path_shared_by_two_is_no_reason_to_leave_it() -> None:
    assert one_path_in_use([2 * FRAME_PS, FRAME_PS]).run(2000) == {0: 2000}


def test_the_only_path_in_use_is_left_if_it_is_slow_for_its_links() -> None:
    sender = one_path_in_use([FRAME_PS, FRAME_PS])
    sender.run(200)
    sender.each[0] = 10 * FRAME_PS
    sender.run(4 * WINDOW)
    shares = [sender.run(400)[0] / 400 for _ in range(4)]
    assert max(shares) < 0.15, shares


def test_few_frames_are_under_way_while_every_path_is_slow() -> None:
    sender = one_path_in_use([20 * FRAME_PS, 20 * FRAME_PS])
    sender.run(4 * WINDOW)
    assert sum(map(len, sender.queues)) <= 16


def test_without_timings_a_source_with_one_path_in_use_stays_on_it() -> None:
    assert Fluid([10 * FRAME_PS, FRAME_PS], ONE_IN_USE, 8).run(400) == {0: 400}
