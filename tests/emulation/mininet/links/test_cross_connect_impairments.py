# SPDX-License-Identifier: Apache-2.0
"""The cross-connect: frames that are lost, delayed, or wait for the rate of a connection, by priority."""

import json
import math
import subprocess
import time
from typing import Any

import pytest

from emulation.errors import TestbedError
from emulation.linux import kernel, requests
from emulation.linux.netlink import Request
from emulation.linux.requests import TIMER_SLACK, threshold
from tests.emulation.mininet.benches import MTU, STALLED, Bench, frame, no_rights, number, until

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)


def of_level(level: int, sequence: int) -> bytes:
    """Build a frame of 1,000 bytes on the first VL of a service level."""
    head = b"\xff" * 6 + b"\2" + bytes(5) + b"\x88\xb5" + (2 * level << 5).to_bytes(2)
    return head + sequence.to_bytes(8) + bytes(1000 - len(head) - 8)


def test_a_link_with_lanes_sends_the_highest_level_first(bench: Bench) -> None:
    """Frames wait at a link that stands still; its rate comes back, and they leave by level."""
    bench.cross_connect.connect("j0", "j1", rate_bps=STALLED, lanes=True)
    until(lambda: {"d0", "d1"} <= bench.carriers(), "the carrier of a new connection")
    sent = [(level, number) for level in (0, 3, 7, 1) for number in range(30)]
    bench.send(0, *(of_level(level, number) for level, number in sent))
    bench.flush()
    assert bench.cross_connect.counters()["j1"].waiting_frames > 80
    early = bench.rest(1)  # what the bucket let through, and a frame of each level's own share
    bench.cross_connect.impair("j0", "j1", rate_bps=1e9)
    late = [
        (int.from_bytes(content[14:16]) >> 6 & 7, int.from_bytes(content[16:24]))
        for content in bench.receive(1, len(sent) - len(early))
    ]
    levels = [level for level, _ in late]
    assert levels == [level for level in (1, 7, 3, 0) for _ in range(levels.count(level))]
    assert all(levels.count(level) > 10 for level in (1, 7, 3, 0))
    for level in (1, 7, 3, 0):
        numbers = [number for other, number in late if other == level]
        assert numbers == sorted(numbers)
    assert bench.cross_connect.counters()["j1"].to_dropped_queue == 0


def test_loss_takes_its_share_in_one_direction(bench: Bench) -> None:
    bench.connect(0, 1)
    share, count = 0.25, 6000
    bench.cross_connect.impair("j0", "j1", loss=share)
    for first in range(0, count, 500):
        bench.send(0, *map(frame, range(first, first + 500)))
        bench.send(1, *map(frame, range(first, first + 500)))
    assert len(bench.receive(0, count)) == count
    arrived = bench.rest(1)
    lost = count - len(arrived)
    assert abs(lost - share * count) < 5 * math.sqrt(count * share * (1 - share))
    counted = bench.cross_connect.counters()
    assert counted["j0"].from_dropped_filter == lost
    assert counted["j1"].from_dropped_filter == 0
    bench.cross_connect.impair("j0", "j1")
    bench.send(0, frame(1))
    assert bench.receive(1, 1) == [frame(1)]


@pytest.mark.parametrize("how", [{"blocked": True}, {"loss": 1.0}])
def test_a_blocked_way_keeps_its_carrier(bench: Bench, how: dict[str, float]) -> None:
    bench.connect(0, 1)
    bench.cross_connect.impair("j1", "j0", **how)  # type: ignore[arg-type]
    bench.send(1, *map(frame, range(500)))
    bench.send(0, *map(frame, range(500)))
    assert len(bench.receive(1, 500)) == 500
    assert bench.rest(0) == []
    assert bench.carriers() == {"d0", "d1"}
    assert bench.cross_connect.counters()["j1"].from_dropped_filter == 500


def test_a_new_patch_is_sound(bench: Bench) -> None:
    bench.connect(0, 1, rate_bps=2 * STALLED)
    bench.cross_connect.impair("j0", "j1", blocked=True, rate_bps=STALLED)
    bench.cross_connect.disconnect("j0", "j1")
    bench.connect(0, 1)
    bench.send(0, *(frame(i, 1000) for i in range(100)))
    assert len(bench.rest(1)) == 100  # nothing waits for a rate


@pytest.mark.parametrize("rate", [2e6, 20e6])
def test_a_link_keeps_to_its_rate(bench: Bench, rate: float) -> None:
    bench.connect(0, 1, rate_bps=rate, queue_bytes=4 << 20)
    size = 1000
    count = int(rate * 0.5 / 8 / size)
    began = time.monotonic()
    bench.send(0, *(frame(i, size) for i in range(count)))
    assert len(bench.receive(1, count)) == count
    # Never faster: the bucket, full at the beginning, holds one large frame and what the timer's slack lets
    # out. A busy machine may be slower, so the other bound is the rate that the kernel says it keeps.
    burst = MTU + 14 + rate / 8 * TIMER_SLACK
    assert (time.monotonic() - began) * rate / 8 >= count * size - burst
    shown = [queue for queue in _queues(bench) if queue["kind"] == "tbf"]
    assert {(queue["dev"], queue["options"]["rate"]) for queue in shown} == {
        ("p0", rate / 8),
        ("p1", rate / 8),
    }


def test_a_change_of_rate_keeps_what_waits(bench: Bench) -> None:
    bench.connect(0, 1, rate_bps=STALLED)
    bench.send(0, *(frame(i, 1000) for i in range(300)))
    bench.cross_connect.impair("j0", "j1", rate_bps=2 * STALLED)
    bench.cross_connect.impair("j0", "j1", loss=0.5, rate_bps=50e6)
    bench.cross_connect.impair("j0", "j1")
    bench.cross_connect.impair("j0", "j1", rate_bps=100e6)
    assert [number(item) for item in bench.receive(1, 300)] == list(range(300))


def test_a_full_queue_drops_and_counts(bench: Bench) -> None:
    bench.connect(0, 1, rate_bps=STALLED, queue_bytes=20_000)
    bench.send(0, *(frame(i, 1000) for i in range(100)))
    assert 0 < len(bench.rest(1)) < 20  # the bucket's
    bench.cross_connect.impair("j0", "j1", rate_bps=100e6)
    bench.drained()
    arrived = bench.cross_connect.counters()["j1"].to_frames
    counted = bench.cross_connect.counters()
    assert counted["j0"].from_frames == 100
    assert counted["j0"].from_bytes == 100_000
    assert counted["j1"].to_dropped_queue == 100 - arrived > 50
    bench.cross_connect.disconnect("j0", "j1")
    bench.connect(0, 1)  # without a rate: the queue is gone, what it dropped is not forgotten
    assert bench.cross_connect.counters()["j1"].to_dropped_queue == 100 - arrived


def test_delay_or_the_name_of_what_is_missing(bench: Bench) -> None:
    bench.connect(0, 1, rate_bps=1e9)
    if kernel.NETEM in kernel.missing():
        with pytest.raises(TestbedError, match=r"sch_netem \(CONFIG_NET_SCH_NETEM\).*linux-modules-extra"):
            bench.cross_connect.impair("j0", "j1", loss=1.0, delay_s=0.05)
        bench.send(0, frame(1))  # and nothing has changed
        assert bench.receive(1, 1) == [frame(1)]
        return
    bench.cross_connect.impair("j0", "j1", delay_s=0.05)
    for _ in range(3):
        began = time.monotonic()
        bench.send(0, frame(1))
        assert bench.receive(1, 1) == [frame(1)]
        assert time.monotonic() - began >= 0.05
    # A busy machine may hold it for longer; the kernel shows how long it means to.
    (shown,) = (queue for queue in _queues(bench) if queue["kind"] == "netem")
    assert shown["options"]["delay"]["delay"] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("probability", "limit"),
    [(1.0, 0), (0.5, 1 << 31), (0.25, 3 << 30), (1e-12, (1 << 32) - 1), (2.0**-32, (1 << 32) - 1)],
)
def test_probability_as_a_threshold(probability: float, limit: int) -> None:
    assert threshold(probability) == limit


def _queues(bench: Bench) -> list[dict[str, Any]]:
    """Return the queues of a cross-connect's interfaces as iproute2 shows: rates in bytes/s, delays in s."""
    shown = subprocess.run(
        ["tc", "-n", bench.connections, "-json", "qdisc", "show"], check=True, capture_output=True, text=True
    )
    return json.loads(shown.stdout)


def test_queues_that_the_kernel_refuses_leave_the_queues_as_they_were(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cross_connect.connect("j0", "j1", rate_bps=STALLED)
    until(lambda: {"d0", "d1"} <= bench.carriers(), "the carrier of a new connection")

    true_limit = requests.rate_limit

    def rate_limit(index: int, rate_bps: float, *args: Any, **kwargs: Any) -> Request:
        return true_limit(999_999 if rate_bps == 1e6 else index, rate_bps, *args, **kwargs)

    monkeypatch.setattr(requests, "rate_limit", rate_limit)
    with pytest.raises(TestbedError, match="the kernel refuses"):
        bench.cross_connect.impair("j0", "j1", rate_bps=1e6, loss=1.0)
    monkeypatch.undo()
    bench.send(0, *(frame(sequence, 1000) for sequence in range(100)))
    bench.flush()
    assert bench.cross_connect.counters()["j0"].from_dropped_filter == 0
    assert len(bench.rest(1)) < 100
    assert bench.cross_connect.counters()["j1"].waiting_frames > 0  # the stalled queue is there
    bench.cross_connect.impair("j0", "j1", rate_bps=1e9)
    bench.drained()
