# SPDX-License-Identifier: Apache-2.0
"""Order of pending events: by time, then in the order of insertion, whatever their number and density."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import pytest

from emulation._engine import Network

CONTROL = 2

Draw = Callable[[random.Random, int], int]

DENSITIES: dict[str, Draw] = {
    "at the same time": lambda _, now: now,
    "in a few picoseconds": lambda source, now: now + source.randrange(20),
    "after two fixed spans": lambda source, now: now + source.choice([80_000, 330_000]),
    "sometimes far away": lambda source, now: (
        now + (source.randrange(1_000) if source.random() < 0.98 else 10**9)
    ),
    "over all scales": lambda source, now: now + (1 << source.randrange(45)),
}


def drain(net: Network, pending: list[tuple[int, int]], count: int, insert: Callable[[int], None]) -> None:
    """Take events, compare each with the first of `pending`, a heap of (time, number), and insert others."""
    for _ in range(count):
        if not pending:
            return
        assert net.run() == CONTROL
        item = net.take_control()
        assert item is not None
        _, time, _, number, *_ = item
        assert (time, number) == heapq.heappop(pending)
        insert(time)


@pytest.mark.parametrize("most", [1, 40, 3_000])
@pytest.mark.parametrize("density", DENSITIES)
def test_events_come_in_order_of_time_and_insertion(density: str, most: int) -> None:
    source = random.Random(f"{density} {most}")
    net = Network()
    pending: list[tuple[int, int]] = []
    number = 0
    draw = DENSITIES[density]

    def insert(now: int) -> None:
        nonlocal number
        for _ in range(source.choice([0, 1, 2]) if len(pending) < most else source.choice([0, 1])):
            time = draw(source, now)
            net.alarm(time, number)
            heapq.heappush(pending, (time, number))
            number += 1

    for _ in range(most):
        insert(0)
    drain(net, pending, 6_000, insert)
    # Another density: spans that fitted the events before are too long or too short now.
    draw = DENSITIES["in a few picoseconds" if density == "over all scales" else "over all scales"]
    drain(net, pending, 3_000, insert)
    drain(net, pending, 2 * most + 10_000, lambda _: None)
    assert net.take_control() is None
    assert not pending
