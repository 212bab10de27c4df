# SPDX-License-Identifier: Apache-2.0
"""A testbed for faults that records calls; its clock jumps from alarm to alarm."""

import heapq
import itertools
from collections.abc import Callable

from emulation.testbed import Impairment
from topologies import Fabric


class FakeTestbed:
    """`done` holds (time, what was called with which arguments)."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.now_ps = 0
        self.done: list[tuple[object, ...]] = []
        self._count = itertools.count()
        self._alarms: list[tuple[int, int, Callable[[], None]]] = []

    def set_link(self, name: str, up: bool) -> None:
        self.done.append((self.now_ps, "link", name, up))

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        self.done.append((self.now_ps, "impair", name, direction, how))

    def send_pause(self, name: str, direction: int, stop: bool) -> None:
        self.done.append((self.now_ps, "pause", name, direction, stop))

    def set_host_link(self, node: str, up: bool) -> None:
        self.done.append((self.now_ps, "host", node, up))

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        heapq.heappush(self._alarms, (time_ps, next(self._count), callback))

    def run(self, until_ps: int | None = None) -> bool:
        while self._alarms and (until_ps is None or self._alarms[0][0] <= until_ps):
            self.now_ps, _, callback = heapq.heappop(self._alarms)
            callback()
        return not self._alarms

    def links(self) -> list[tuple[object, ...]]:
        return [tuple(item[2:]) for item in self.done if item[1] == "link"]
