# SPDX-License-Identifier: Apache-2.0
"""Send numbered frames between hosts of a running fabric, and count lost frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import final

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.wire import readdress
from harness.frames.craft import Order, craft
from harness.lessons.scripted_host import ScriptedHost
from topologies import Fabric

__all__ = ["Frames"]

NUMBER_BYTES = 8

Pair = tuple[int, int]


@final
class Frames:
    """Frames between hosts, each with a unique number as payload; a pair gives hosts by their indices.

    `every_ps` is the interval between the frames of a stream; `random` draws start times and load-balance
    values.
    """

    def __init__(self, fabric: Fabric, hosts: Sequence[str], every_ps: int, random: Random) -> None:
        self._fabric, self._hosts, self._every_ps, self._random = fabric, hosts, every_ps, random
        self._plan: dict[str, list[tuple[int, bytes]]] = {host: [] for host in hosts}
        self._pairs: dict[bytes, Pair] = {}
        self._templates: dict[Pair, bytes] = {}

    @property
    def sent(self) -> int:
        """Number of planned frames."""
        return len(self._pairs)

    def stream(self, pair: Pair, begin_ps: int, end_ps: int) -> None:
        """Plan frames in both directions of a pair of hosts, every `every_ps`, up to `end_ps`.

        The first frame is at a random time within `every_ps` after `begin_ps`.
        """
        for source, target in (pair, pair[::-1]):
            for time_ps in range(begin_ps + self._random.randrange(self._every_ps), end_ps, self._every_ps):
                self._add(source, target, time_ps)

    def burst(self, pair: Pair, time_ps: int, count: int) -> None:
        """Plan `count` frames at a single time, half of them in each direction of a pair of hosts."""
        for _ in range(count // 2):
            self._add(*pair, time_ps)
            self._add(pair[1], pair[0], time_ps)

    def attach(self, bed: EmbeddedTestbed) -> dict[str, ScriptedHost]:
        """Attach a new host with the frames planned so far for each host name; return the hosts by name."""
        senders = {name: ScriptedHost(timed=plan) for name, plan in self._plan.items()}
        for name, sender in senders.items():
            bed.attach(name, sender)
            self._plan[name] = []
        return senders

    def lost(self, senders: Mapping[str, ScriptedHost]) -> Counter[Pair]:
        """Return the number of frames that have not arrived, by pair (sender, receiver)."""
        arrived = {
            (name, frame[-NUMBER_BYTES:]) for name, sender in senders.items() for _, frame in sender.arrived
        }
        return Counter(
            pair for number, pair in self._pairs.items() if (self._hosts[pair[1]], number) not in arrived
        )

    def _add(self, source: int, target: int, time_ps: int) -> None:
        if (source, target) not in self._templates:
            order = Order(self._hosts[source], self._hosts[target], payload=bytes(NUMBER_BYTES))
            self._templates[source, target] = bytes(craft(self._fabric, order))
        number = len(self._pairs).to_bytes(NUMBER_BYTES)
        self._pairs[number] = (source, target)
        frame = readdress(self._templates[source, target], self._random.randrange(1 << 8), 0)
        self._plan[self._hosts[source]].append((time_ps, frame[:-NUMBER_BYTES] + number))
