# SPDX-License-Identifier: Apache-2.0
"""Random reconfigurations of an optical circuit switch under traffic, and the circuits they should leave."""

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import final

import pytest

from tests.emulation.embedded.circuits import DARK, SIZE, Chatter, running, single_port


@final
class Truth:
    """Circuits by time, computed from the maps alone."""

    def __init__(self, joined: Mapping[int, int]) -> None:
        self.spans: dict[int, list[list[int]]] = {port: [] for port in range(64)}  # far port, from, to
        self.joined: dict[int, int] = {}
        self.coming: tuple[int, dict[int, int]] | None = None
        self.joined = {}
        self._join(0, dict(joined))

    def _join(self, now: int, joined: dict[int, int]) -> None:
        for port, neighbour in joined.items():
            if port not in self.joined:
                self.spans[port].append([neighbour, now, 1 << 62])
        self.joined = joined

    def settle(self, now: int) -> None:
        if self.coming is not None and self.coming[0] <= now:
            self._join(*self.coming)
            self.coming = None

    def apply(self, now: int, new: dict[int, int]) -> None:
        self.settle(now)
        for port in [port for port, neighbour in self.joined.items() if new.get(port) != neighbour]:
            self.spans[port][-1][2] = now
            del self.joined[port]
        self.coming = (now + DARK, new)

    def stood(self, port: int, neighbour: int, begin: int, end: int) -> bool:
        """Return whether the two ports were one circuit during the whole interval."""
        return any(
            other == neighbour and since <= begin and end <= to for other, since, to in self.spans[port][-3:]
        )


def random_map(chance: random.Random, now: Mapping[int, int], ports: int) -> dict[int, int]:
    """Some circuits as they are, others between random ports, some ports dark."""
    stays = chance.choice((0.0, 0.5, 0.8, 0.95))
    kept = {(a, b) for a, b in now.items() if a < b and chance.random() < stays}
    free = [port for port in range(ports) if not any(port in pair for pair in kept)]
    chance.shuffle(free)
    created = [(a, b) for a, b in zip(free[::2], free[1::2], strict=False) if chance.random() < 0.9]
    return {end: neighbour for a, b in (*kept, *created) for end, neighbour in ((a, b), (b, a))}


@pytest.mark.long("65536")
@pytest.mark.parametrize("credit_bytes", [65536, 0])
def test_a_thousand_random_reconfigurations_under_traffic(credit_bytes: int) -> None:
    """No frame comes out of a port that was not its circuit's; circuits that stay lose nothing."""
    npus, count, chance = 16, 1000, random.Random(4)
    times, now = [], 0
    for _ in range(count):
        now += chance.randrange(DARK // 10, 3 * DARK)  # many within the dark time of the one before
        times.append(now)
    begun = random_map(chance, {}, npus)
    fabric = single_port(npus, begun)
    (ocs,) = fabric.optical
    to_host = -(-SIZE * 8 * 10**12 // (fabric.host_lanes * fabric.lane_rate_bps)) + fabric.host_delay_ps
    on_circuit = -(-SIZE * 8 * 10**12 // ocs.rate_bps) + ocs.delay_ps
    truth = Truth(begun)
    delivered = kept = torn = overlapping = 0
    with running(fabric, credit_bytes=credit_bytes) as testbed:
        circuits = testbed.circuits["ocs0"]

        def seen(to: int, at: int, data: bytes) -> None:
            nonlocal delivered
            delivered += 1
            arrival = at - to_host
            assert truth.stood(data[1], to, arrival - on_circuit, arrival), (data[1], to, at)

        def misses() -> dict[str, int]:
            """Return the losses and refusals of circuits that are up."""
            usage = testbed.link_usage()
            names = [f"ocs0:{a}-{b}" for a, b in circuits.crossconnect.items() if a < b]
            return {name: sum(way.lost_frames + way.refused_frames for way in usage[name]) for name in names}

        standing: dict[str, int] = misses()

        def settled() -> None:
            truth.settle(testbed.now_ps)
            assert dict(circuits.crossconnect) == truth.joined
            for name, before in misses().items():
                standing.setdefault(name, before)

        def reconfigure() -> None:
            nonlocal kept, torn, overlapping
            now = testbed.now_ps
            overlapping += dict(circuits.crossconnect) != dict(circuits.target)
            assert misses() == standing  # whatever stood until now has lost nothing since it stands
            new = random_map(chance, circuits.target, npus)
            truth.apply(now, new)
            done = circuits.apply(new)
            assert dict(circuits.crossconnect) == truth.joined
            assert dict(circuits.target) == new
            for low, high in done.torn:
                del standing[f"ocs0:{low}-{high}"]
            kept, torn = kept + len(done.kept), torn + len(done.torn)
            testbed.at(now + DARK, settled)

        for time in times:
            testbed.at(time, reconfigure)
        hosts = []
        for i in range(npus):
            gaps = [chance.randrange(20_000, 2 * DARK // 3) for _ in range(times[-1] // (DARK // 3))]
            instants = [start for start, _ in pairwise(_sums(gaps)) if start < times[-1] + 2 * DARK]
            hosts.append(Chatter(i, instants, seen))
            testbed.attach(f"npu{i}", hosts[-1])
        assert testbed.run()
        assert dict(circuits.crossconnect) == dict(circuits.target) == truth.joined
        assert misses() == standing
        usage = [way for both in testbed.link_usage().values() for way in both]
        removed = sum(way.lost_frames + way.refused_frames for way in usage) + testbed.frames_without_link
    sent = sum(host.sent for host in hosts)
    assert delivered + removed == sent
    assert delivered > 10_000
    assert sum(way.lost_frames for way in usage) > 10
    assert min(kept, torn, overlapping) > 200


def _sums(gaps: list[int]) -> list[int]:
    total, out = 0, []
    for gap in gaps:
        total += gap
        out.append(total)
    return out
