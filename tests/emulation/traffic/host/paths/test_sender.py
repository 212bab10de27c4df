# SPDX-License-Identifier: Apache-2.0
"""Loss recovery by path: what is sent again, when, and by which path."""

from collections import Counter
from itertools import pairwise
from typing import Any

from emulation.traffic.frames.values import Flags
from emulation.traffic.host.path_choice import PathShares
from emulation.traffic.host.transport import NEVER, TransportParameters
from tests.oracle.codec import AckWriter, DataFields, DataWriter, parse
from tests.oracle.paths.sender import PathSender
from tests.oracle.paths.spray import PathHealth, RoundTrips, Spray
from tests.oracle.transport import Receiver

US = 10**6
ENDS: dict[str, Any] = {"scna": 1, "dcna": 2, "src_q": 3, "dst_q": 4}
AGAIN = int(Flags.RETRANSMISSION)
# Two paths in turn, even buckets and odd buckets.
TWO = PathShares((0, 1) * 8)
# One path in use, another on standby in every fourth bucket.
STANDBY = PathShares((0, 0, 0, 1) * 4, (1 / 12, 1 / 12, 1 / 12, 0) * 4)


def sender(shares: PathShares, measured_us: int = 1) -> PathSender:
    trips = RoundTrips()
    if measured_us:
        trips.add(measured_us * US)
    writer = DataWriter(**ENDS, job=1, dtype=1, lb_mode=1)
    return PathSender(TransportParameters(), writer, Spray(shares, 0, PathHealth(shares.paths)), trips)


def send(end: PathSender, count: int, now: int = 0) -> list[DataFields]:
    return [data(end.send(0, 0, 0, 4 * at, bytes(4), False, now)) for at in range(count)]


def data(frame: bytes) -> DataFields:
    fields = parse(frame)
    assert isinstance(fields, DataFields)
    return fields


def test_weights_are_shares_of_frames_and_standby_buckets_carry_none() -> None:
    shares = PathShares((0, 1, 2) + (3,) * 13, (0.5, 0.3, 0.2) + (0.0,) * 13)
    end = Spray(shares, 0, PathHealth(shares.paths))
    drawn = Counter(end.next_lb(0) for _ in range(1000))
    assert {bucket: round(count, -1) for bucket, count in drawn.items()} == {0: 500, 1: 300, 2: 200}


def test_messages_of_a_few_frames_follow_the_weights_over_many_pairs() -> None:
    shares = PathShares((0, 1) + (2,) * 14, (0.5, 0.3) + (0.2 / 14,) * 14)
    ends = [Spray(shares, lb, PathHealth(shares.paths)) for lb in range(16)]
    paths = Counter(shares.paths[end.next_lb(0)] for end in ends for _ in range(2))
    # Of 32 frames, two a pair: exact shares are 16, 9.6 and 6.4.
    assert all(abs(paths[path] - exact) <= 4 for path, exact in enumerate((16, 9.6, 6.4))), paths


def test_a_later_frame_of_the_same_path_proves_a_loss_at_once() -> None:
    end = sender(TWO)
    send(end, 6)
    # 0 is missing; 2 of the same path has come.
    end.on_ack(0, 0b10, US)
    (again,) = [data(frame) for frame in end.resend(US)]
    assert (again.psn, again.lb % 2, again.flags & AGAIN) == (0, 1, AGAIN)


def test_frames_that_another_path_overtakes_are_not_lost() -> None:
    end = sender(TWO)
    send(end, 6)
    end.on_ack(0, 0b10101, US)  # 1, 3 and 5 have come, all by the other path
    assert end.lost == []


def test_a_silent_path_is_probed_by_another_and_then_all_its_frames_go_again() -> None:
    end = sender(STANDBY)
    send(end, 20)
    (probe,) = [data(frame) for frame in end.on_timeout(end.timer)]
    assert STANDBY.paths[probe.lb % 16] == 1
    at = 4 * US
    end.on_ack(1, 0, at, AGAIN)
    again = [data(frame) for frame in end.resend(at)]
    assert [fields.psn for fields in again] == list(range(1, 20))
    assert {STANDBY.paths[fields.lb % 16] for fields in again} == {1}
    assert not end.spray.health.works(0)
    assert {STANDBY.paths[fields.lb % 16] for fields in send(end, 8, at)} == {1}


def test_an_acknowledgement_of_the_first_transmission_does_not_condemn_its_path() -> None:
    end = sender(STANDBY)
    send(end, 20)
    end.on_timeout(end.timer)
    end.on_ack(1, 0, 4 * US)  # no frame sent again has arrived
    assert end.lost == []
    assert end.spray.health.works(0)


def test_the_timeout_follows_the_round_trips_of_the_agent_and_backs_off() -> None:
    end = sender(STANDBY, measured_us=4)
    send(end, 2)
    assert end.timer == 6 * US
    end.on_timeout(end.timer)
    assert end.timer == 6 * US + 12 * US
    quiet = sender(STANDBY, measured_us=0)
    send(quiet, 1)
    assert quiet.timer == TransportParameters().initial_rto_ps
    quiet._trips.add(2 * US)
    quiet.rearm(US)
    assert quiet.timer == US + 3 * US


def test_paths_are_probed_more_often_than_timeouts_come() -> None:
    """A source that hears nothing for long notices a path that works again a fraction of that later."""
    parameters = TransportParameters()
    end = sender(TWO)
    send(end, 1)
    times: list[int] = []
    timeouts: list[int] = []
    now = 0
    while end.timer != NEVER:
        now, before = end.timer, end.retries
        frames = end.on_timeout(now)
        assert len(frames) == (end.failed_psn is None)
        if frames:
            times.append(now)
        if end.retries > before:
            timeouts.append(now)
    assert len(timeouts) == parameters.max_retries + 4
    # The time until the connection is given up is that of timeouts that double up to their maximum.
    assert now >= timeouts[-1] + parameters.max_rto_ps
    for before, after in pairwise(times):
        assert after - before <= max(before / 4, 50 * US)
    assert len(times) < 150


def test_an_avoided_path_is_tried_again_and_comes_back() -> None:
    health = PathHealth((0, 1))
    health.suspect(0, now=0)
    assert not health.may_try(0, 10 * US)
    assert health.may_try(0, 60 * US)  # a trial
    assert not health.may_try(0, 61 * US)
    health.acknowledged(0)
    assert health.works(0)
    health.suspect(1, 0)
    health.suspect(0, 0)
    assert health.works(0)  # the last path stays in use


def test_a_changed_route_is_probed_and_only_frames_that_did_not_arrive_go_again() -> None:
    end = sender(TWO)
    send(end, 6)
    end.spray.health.split({0, 2})
    (probe,) = [data(frame) for frame in end.rerouted(frozenset({0, 2}), US)]
    assert (probe.psn, probe.lb, probe.flags & int(Flags.ACK_NOW)) == (2, 2, int(Flags.ACK_NOW))
    end.on_ack(2, 0, 2 * US)  # an acknowledgement that was under way already proves nothing
    assert end.lost == []
    end.on_ack(4, 0, 3 * US, AGAIN)
    assert end.resend(3 * US) == []  # both frames of these buckets have arrived


def test_frames_lost_on_a_former_route_do_not_condemn_the_new_one() -> None:
    end = sender(TWO)
    send(end, 64)
    end.spray.health.split({0})
    (probe,) = [data(frame) for frame in end.rerouted(frozenset({0}), US)]
    assert probe.psn == 48
    arrived = [psn for psn in range(64) if psn % 16 or psn == 48]
    end.on_ack(0, sum(1 << psn - 1 for psn in arrived), 2 * US, AGAIN)
    assert [data(frame).psn for frame in end.resend(2 * US)] == [0, 16, 32]
    assert end.spray.health.whole


def test_buckets_whose_routes_have_changed_share_no_order() -> None:
    end = sender(TWO)
    end.spray.health.split({0, 2})
    send(end, 4)
    end.on_ack(0, 0b10, US)  # bucket 2 overtakes bucket 0: they took one path before
    assert end.lost == []


def test_acknowledgements_leave_a_path_on_which_the_peer_hears_none() -> None:
    spray = Spray(STANDBY, 0, PathHealth(STANDBY.paths))
    end = Receiver(TransportParameters(), AckWriter(**ENDS, lb_mode=1), 0, spray)
    end.accept(0, 0, 0)
    assert STANDBY.paths[parse(end.ack(0)).lb % 16] == 0
    assert end.accept(0, AGAIN, US) is False
    answer = parse(end.ack(US))
    assert STANDBY.paths[answer.lb % 16] == 1
    assert answer.flags == AGAIN
