# SPDX-License-Identifier: Apache-2.0
"""Several connections of a pair: which one a message takes, and that nothing is lost between them."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import allreduce_ring, bidirectional_dimension_order, mesh_ring
from emulation.traffic.host.path_choice import Choose, Connections, first_lb
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import make_data
from emulation.traffic.schedule.schedule import slice_schedule
from tests.oracle.agent import Agent
from tests.oracle.codec import AckWriter, DataWriter, parse
from tests.oracle.connections import Peer, connect
from tests.oracle.transport import Receiver, Sender

Run = Callable[..., Any]
ILL: dict[str, Any] = {"loss": 0.03, "duplication": 0.03, "jitter_ps": 3_000_000}


def parameters(connections: Connections | None, **more: Any) -> TransportParameters:
    return TransportParameters(lb_mode=0, connections=connections, **more)


def peer(count: int, draw: Callable[[int], int] | None = None, window: int = 8) -> Peer:
    """Rank 1 of two, as rank 0 sees it."""
    chosen = TransportParameters(lb_mode=0, window=window, ack_every=1)
    ends: dict[str, Any] = {"scna": 1, "dcna": 2}
    senders = [
        Sender(
            chosen,
            DataWriter(**ends, src_q=2 * line + 1, dst_q=2 * line, job=1, dtype=1, lb_mode=0),
            10 + line,
        )
        for line in range(count)
    ]
    receivers = [
        Receiver(chosen, AckWriter(**ends, src_q=2 * line + 1, dst_q=2 * line, lb_mode=0), line)
        for line in range(count)
    ]
    return Peer(1, 0, 2, senders, receivers, draw)


def post(item: Peer, size: int) -> int:
    """Return the connection of the next message of `size` bytes."""
    sender = item.pick()
    assert sender is not None
    sender.send(1, 0, 0, 0, bytes(size), False, 0)
    item.message_sent()
    return item.senders.index(sender)


def test_a_message_goes_where_fewest_bytes_are_unfinished() -> None:
    item = peer(3)
    assert [post(item, size) for size in (400, 100, 100, 100, 100, 100)] == [0, 1, 2, 1, 2, 1]
    # What is acknowledged is finished.
    assert item.senders[0].on_ack(1, 0, 1000)
    assert item.senders[0].unfinished == 0
    assert post(item, 100) == 0


def test_a_drawn_connection_waits_while_its_window_is_full() -> None:
    drawn = iter([0, 0, 1])
    item = peer(2, lambda count: next(drawn), window=1)
    assert post(item, 100) == 0
    assert item.pick() is None  # 0 again, though 1 has room
    assert item.pick() is None  # and drawn once
    item.senders[0].on_ack(1, 0, 1000)
    assert post(item, 100) == 0
    assert post(item, 100) == 1


def lbs_between(ranks: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """From one to four a pair, other numbers either way."""
    return {
        pair: tuple(range(17 * pair[0], 17 * pair[0] + 1 + (pair[0] + 2 * pair[1]) % 4))
        for pair in permutations(range(ranks), 2)
    }


@pytest.mark.parametrize("choose", ["least-unfinished", "random"])
@pytest.mark.parametrize("fortune", [{}, ILL], ids=["good wire", "bad wire"])
def test_data_are_right_whatever_goes_where(run_job: Run, choose: Choose, fortune: dict[str, Any]) -> None:
    chosen = parameters(Connections(lbs_between(8), choose, seed=5), window=8, ack_every=4)
    for schedule in (bidirectional_dimension_order((2, 4), 5003), allreduce_ring(mesh_ring((2, 4)), 5003)):
        job = run_job(schedule, parameters=chosen, **fortune)
        total = np.sum(job.inputs, axis=0, dtype=np.int32)
        assert all((result == total).all() for result in job.results)
        assert all(agent.done and not agent.failed and not agent.stats.junk for agent in job.agents)
        assert bool(job.wire.lost) == bool(fortune)


def data_lbs(connections: Connections | None, lb_mode: int) -> Counter[int]:
    """Count the first frames of rank 0 of two by lb."""
    sliced = slice_schedule(allreduce_ring(range(2), 4096), 64)
    data = make_data(0, 4096, "int32", 1)
    chosen = TransportParameters(lb_mode=lb_mode, connections=connections, window=6)
    frames, _ = Agent(0, sliced, data, [64, 65], parameters=chosen).start(0)
    return Counter(parse(frame).lb for frame, _ in frames)


def test_each_connection_has_its_lb_and_its_window() -> None:
    assert data_lbs(Connections({(0, 1): (9, 200, 33)}), 0) == {9: 6, 200: 6, 33: 6}
    first = first_lb(0, 1)
    assert data_lbs(None, 0) == {first: 6}
    assert data_lbs(None, 1) == {first + turn: 1 for turn in range(6)}


def test_frames_of_connections_that_are_not_there_are_junk() -> None:
    sliced = slice_schedule(allreduce_ring(range(2), 4096), 64)
    data = make_data(0, 4096, "int32", 1)
    item, two = (Connections({(0, 1): lbs, (1, 0): lbs}) for lbs in ((1,), (1, 2)))
    sender = Agent(0, sliced, data, [64, 65], parameters=parameters(two))
    taker = Agent(1, sliced, make_data(1, 4096, "int32", 1), [64, 65], parameters=parameters(item))
    frames = sender.start(0)[0]
    for frame, _ in frames:
        taker.on_frame(frame, 0)
    # Every other one went on the second connection.
    assert taker.stats.junk == {"connection": len(frames) // 2}


def test_queues_are_numbered_with_sixteen_bits() -> None:
    sliced = slice_schedule(allreduce_ring(range(2), 64), 64)
    addresses = list(range(512))
    many = parameters(Connections({(0, 1): tuple(range(129))}))
    with pytest.raises(EmulationError, match="129 connections for each pair among 512 ranks need"):
        connect(0, sliced.plans[0], addresses, many, job=1, dtype=1)
