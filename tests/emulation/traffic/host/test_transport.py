# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise
from typing import Any

import pytest

from emulation.errors import EmulationError
from emulation.traffic.host.transport import MAX_WINDOW, NEVER, TransportParameters
from tests.oracle.codec import AckFields, AckWriter, DataFields, DataWriter, parse, skipped_frames
from tests.oracle.transport import Receiver, Sender

ENDS: dict[str, Any] = {"scna": 1, "dcna": 2, "src_q": 2, "dst_q": 1}
US = 1_000_000


def sender(**values: Any) -> Sender:
    parameters = TransportParameters(**values)
    return Sender(parameters, DataWriter(**ENDS, job=1, dtype=1, lb_mode=parameters.lb_mode), 0)


def receiver(**values: Any) -> Receiver:
    parameters = TransportParameters(**values)
    return Receiver(parameters, AckWriter(**ENDS, lb_mode=parameters.lb_mode), 0)


def send(end: Sender, now: int = 0, last: bool = False) -> DataFields:
    return data(end.send(1, 0, 0, 0, b"abcd", last, now))


def data(frame: bytes) -> DataFields:
    fields = parse(frame)
    assert isinstance(fields, DataFields)
    return fields


def said(end: Receiver) -> tuple[int, int]:
    fields = parse(end.ack())
    assert isinstance(fields, AckFields)
    return fields.ack_psn, fields.sack


def test_window_closes_and_opens_by_what_is_acknowledged_in_order() -> None:
    end = sender(window=4, ack_every=2)
    frames = []
    while end.has_room():
        frames.append(send(end))
    assert [frame.psn for frame in frames] == [0, 1, 2, 3]
    assert [frame.flags for frame in frames] == [0, 0, 0, 1]  # the last that fits asks for an acknowledgement
    assert not end.on_ack(0, 0b110, 10)  # 2 and 3 have come, 0 and 1 not: the window stays
    assert not end.has_room()
    assert end.on_ack(3, 0, 10)
    assert end.in_flight == 1


def test_last_frame_asks_for_an_acknowledgement() -> None:
    assert send(sender(), last=True).flags == 1


@pytest.mark.parametrize("first", [0, 5, 0xFFFFFF - 20])
def test_receiver_says_what_is_missing_across_the_wrap(first: int) -> None:
    end = receiver(first_psn=first, ack_every=64)

    def psn(place: int) -> int:
        return (first + place) & 0xFFFFFF

    for place in (0, 1, 3, 6, 63):
        assert end.accept(psn(place), 0, 0) is True
    assert said(end) == (psn(2), 1 << 0 | 1 << 3 | 1 << 60)
    assert end.accept(psn(3), 0, 0) is False
    assert end.accept(psn(0), 0, 0) is False
    assert end.accept(psn(2), 0, 0) is True
    assert said(end) == (psn(4), 1 << 1 | 1 << 58)
    for place in (*range(4, 6), *range(7, 63)):
        assert end.accept(psn(place), 0, 0) is True
    assert said(end) == (psn(64), 0)
    assert end.accept(psn(64 + 65), 0, 0) is None  # beyond any window
    assert (end.received, end.duplicates) == (64, 2)


@pytest.mark.parametrize("first", [0, 0xFFFFD0])
def test_maps_of_a_large_window_end_near_the_frame_that_arrived_last(first: int) -> None:
    end = receiver(first_psn=first, ack_every=64, window=300)

    def psn(place: int) -> int:
        return (first + place) & 0xFFFFFF

    for place in (0, *range(2, 200)):
        assert end.accept(psn(place), 0, 0) is True
    frame = end.ack()
    fields = parse(frame)
    assert isinstance(fields, AckFields)
    # The map has the 62 frames up to place 199, which is 137 + 62.
    assert (fields.ack_psn, skipped_frames(frame), fields.sack) == (psn(1), 136, (1 << 62) - 1)
    assert end.accept(psn(1 + 300), 0, 0) is True
    assert end.accept(psn(1 + 301), 0, 0) is None  # beyond the window


def test_an_arrival_far_from_the_one_before_is_acknowledged_at_once() -> None:
    end = receiver(ack_every=64, window=300)
    for place in (*range(1, 40), 99):
        end.accept(place, 0, 0)
    assert end.ack_at == 2 * US
    end.accept(160, 0, 0)
    assert end.ack_at == 0


def test_a_sender_adds_maps_that_begin_later() -> None:
    end = sender(window=200, ack_every=64)
    for _ in range(200):
        send(end)
    end.on_ack(0, (1 << 64) - 1, 10, skipped=100)
    end.on_ack(0, 1, 10, skipped=0)
    assert not end.has_room()
    again = [data(frame).psn for frame in end.on_timeout(end.timer)]
    assert again == [0, *range(2, 101), *range(165, 200)]


def test_receiver_answers_every_few_frames_at_once_when_asked_and_late_otherwise() -> None:
    end = receiver(ack_every=3, ack_delay_ps=2 * US)
    end.accept(0, 0, 100)
    assert end.ack_at == 100 + 2 * US
    end.accept(1, 0, 200)
    assert end.ack_at == 100 + 2 * US
    end.accept(2, 0, 300)
    assert end.ack_at == 300
    end.ack()
    assert end.ack_at == NEVER
    end.accept(3, 1, 400)
    assert end.ack_at == 400


def test_retransmission_is_selective_and_takes_another_bucket() -> None:
    end = sender(window=8, lb_mode=1, initial_rto_ps=100 * US)
    buckets = [send(end).lb & 15 for _ in range(6)]
    assert buckets == [0, 1, 2, 3, 4, 5]
    end.on_ack(1, 0b1010, 10)  # 0 in order; 3 and 5 beyond the gap
    due = end.timer
    again = [data(frame) for frame in end.on_timeout(due)]
    assert [frame.psn for frame in again] == [1, 2, 4]
    assert all(frame.lb & 15 != buckets[frame.psn] for frame in again)
    assert [frame.flags for frame in again] == [2, 2, 3]
    assert end.retransmitted == 3


def test_a_flow_keeps_its_bucket_until_a_timeout_and_then_keeps_the_next() -> None:
    end = sender(lb_mode=0)
    assert {send(end).lb for _ in range(5)} == {0}
    moved = {data(frame).lb for frame in end.on_timeout(end.timer)}
    assert len(moved) == 1
    assert moved != {0}
    assert send(end).lb in moved


def test_sixteen_timeouts_try_all_buckets() -> None:
    for mode in (0, 1):
        end = sender(lb_mode=mode, max_retries=16)
        seen = {send(end).lb & 15}
        while len(seen) < 16:
            (frame,) = end.on_timeout(end.timer)
            assert data(frame).lb & 15 not in seen
            seen.add(data(frame).lb & 15)


def test_frames_that_the_last_frame_has_overtaken_are_acknowledged_once_they_arrive() -> None:
    end = receiver()
    end.accept(3, 1, 100)  # asks for an acknowledgement, by a shorter path
    assert end.ack_at == 100
    end.ack()
    for psn, delay in ((0, 2 * US), (2, 2 * US), (1, 0)):
        end.accept(psn, 0, 200)
        assert end.ack_at == 200 + delay
    assert said(end) == (4, 0)
    end.accept(4, 0, 300)
    assert end.ack_at == 300 + 2 * US


def test_timer_backs_off_and_recovers_with_the_estimate() -> None:
    end = sender(initial_rto_ps=100 * US, min_rto_ps=10 * US, ack_delay_ps=US, max_rto_ps=300 * US)
    send(end, 0)
    assert end.timer == 100 * US
    end.on_ack(1, 0, 8 * US)
    assert end.timer == NEVER
    assert end.rtt_ps == 8 * US
    assert end.rto_ps == 8 * US + 4 * 4 * US  # RFC 6298: first variation is half the sample
    send(end, 20 * US)
    times = []
    for _ in range(5):
        times.append(end.timer)
        end.on_timeout(end.timer)
    assert [later - time for time, later in pairwise(times)] == [48 * US, 96 * US, 192 * US, 300 * US]
    end.on_ack(2, 0, end.timer - 1)
    assert end.rtt_ps == 8 * US  # a frame sent twice gives no sample
    assert end.rto_ps == 24 * US


def test_sampling_resumes_with_frames_sent_once() -> None:
    end = sender(initial_rto_ps=100 * US)
    send(end, 0)
    end.on_timeout(end.timer)
    end.on_ack(1, 0, 101 * US)
    assert end.rtt_ps == 0
    send(end, 200 * US)
    end.on_ack(2, 0, 203 * US)
    assert end.rtt_ps == 3 * US


def test_timeout_spares_frames_that_had_no_time_yet() -> None:
    end = sender(initial_rto_ps=100 * US)
    send(end, 0)
    send(end, 99 * US)
    assert [data(frame).psn for frame in end.on_timeout(end.timer)] == [0]


def test_connection_fails_after_its_retries_and_names_the_oldest_frame() -> None:
    end = sender(max_retries=3, first_psn=0xFFFFFF)
    send(end)
    send(end)
    end.on_ack(0, 0, 5)
    for _ in range(3):
        assert end.on_timeout(end.timer)
    assert end.failed_psn is None
    assert end.on_timeout(end.timer) == []
    assert end.failed_psn == 0
    assert end.timer == NEVER


def test_any_news_gives_new_retries() -> None:
    end = sender(max_retries=2)
    for _ in range(3):
        send(end)
    for sack in (0b01, 0b11):
        end.on_timeout(end.timer)
        end.on_timeout(end.timer)
        end.on_ack(0, sack, end.timer - 1)
    assert end.on_timeout(end.timer)
    assert end.failed_psn is None


def test_old_and_false_acknowledgements_change_nothing() -> None:
    end = sender(first_psn=100)
    for _ in range(4):
        send(end)
    assert end.on_ack(102, 0, 10)
    assert not end.on_ack(101, (1 << 64) - 1, 11)  # overtaken by the one before
    assert not end.on_ack(105, 0, 12)  # never sent
    assert end.in_flight == 2
    end.on_ack(102, (1 << 64) - 1, 13)  # marks frames that were never sent
    assert [data(frame).psn for frame in end.on_timeout(end.timer)] == [102]


def test_a_duplicate_sends_the_acknowledgements_another_way() -> None:
    end = receiver(lb_mode=0)
    end.accept(0, 0, 0)
    before = parse(end.ack()).lb
    assert parse(end.ack()).lb == before
    end.accept(0, 0, 0)
    assert parse(end.ack()).lb != before


@pytest.mark.parametrize(
    "values",
    [
        {"window": 0},
        {"window": MAX_WINDOW + 1},
        {"window": 65, "paths": {}},
        {"ack_every": 65},
        {"ack_delay_ps": 25_000_000},
        {"initial_rto_ps": 1},
        {"lb_mode": 2},
        {"first_psn": 1 << 24},
    ],
)
def test_parameters_out_of_range_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(EmulationError, match=r"use a value (from|up to)"):
        TransportParameters(**values)
