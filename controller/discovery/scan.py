# SPDX-License-Identifier: Apache-2.0
"""Topology scan: breadth first from a root, with a request through every port whose peer is unknown.

The scan is a state machine without clock or socket. Its driver sends the requests of a wave, passes received
frames to the scan, and asks for the next wave when no more frames arrive. A port without an answer is dark.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import final

from controller.discovery.wire import Answer, Hops, read_answer, request
from controller.errors import PlanError

__all__ = ["Device", "Discovered", "TopologyScan"]

_NUMBERS = 1 << 16

# A node and one of its ports.
SwitchPort = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Device:
    """A discovered node: its GUID, its class, its number of ports, and the path to it.

    `path` lists the egress ports from the root to the node, `back` those from the node to the root.
    """

    guid: int
    class_code: int
    ports: int
    path: tuple[int, ...] = ()
    back: tuple[int, ...] = ()


@final
@dataclass(slots=True)
class Discovered:
    """Results of a topology scan.

    Attributes:
        nodes: Discovered nodes by GUID, the root first.
        links: The peer of each port; both ends of each link are keys.
        dark: Ports without an answer.
        requests: Number of requests.
        unexpected: Number of received frames that answer no request.
    """

    nodes: dict[int, Device] = field(default_factory=dict)
    links: dict[SwitchPort, SwitchPort] = field(default_factory=dict)
    dark: list[SwitchPort] = field(default_factory=list)
    requests: int = 0
    unexpected: int = 0

    @property
    def longest_path(self) -> int:
        """Hops of the longest path from the root to a discovered node."""
        return max((len(device.path) for device in self.nodes.values()), default=0)


@final
class TopologyScan:
    """Topology scan from the root, the node attached to the driver.

    At first no other node is known. `hops` is the width of a hop in the paths of requests.
    """

    def __init__(self, hops: Hops = Hops.BITS_8) -> None:
        self.discovered = Discovered()
        self._hops = hops
        self._waiting: dict[int, SwitchPort | None] = {}  # by request number; None for the root itself
        self._nodes: deque[int] = deque()
        self._begun = False

    def next_wave(self) -> list[bytes]:
        """Return the frames of the next requests; an empty list if the scan has ended.

        Requests of the last wave that have no answer yet count as unanswered: their ports are dark.

        Raises:
            PlanError: The root does not answer, or a node needs a path longer than a request allows.
        """
        dark = [switch_port for switch_port in self._waiting.values() if switch_port is not None]
        self.discovered.dark += dark
        if None in self._waiting.values():
            raise PlanError(
                "the root of the scan does not answer",
                remedy="load the program ub_scan and its entries on the root",
            )
        self._waiting.clear()
        if not self._begun:
            self._begun = True
            return [self._request(None, (), ())]
        while self._nodes:
            node = self.discovered.nodes[self._nodes.popleft()]
            frames = [
                self._request((node.guid, port), (*node.path, port), (0, *node.back))
                for port in range(1, node.ports + 1)
                if (node.guid, port) not in self.discovered.links
            ]
            if frames:
                return frames
        return []

    def receive(self, frame: bytes) -> None:
        """Process a received frame; a frame that answers no request is counted and ignored."""
        answer = read_answer(frame)
        if answer is None or answer.number not in self._waiting:
            self.discovered.unexpected += 1
            return
        switch_port = self._waiting[answer.number]
        if switch_port is not None and answer.sent_by != switch_port[1]:
            self.discovered.unexpected += 1  # the true answer may still come
            return
        del self._waiting[answer.number]
        if switch_port is None:
            self._add(answer, (), ())
            return
        guid, port = switch_port
        sender = self.discovered.nodes[guid]
        end = (answer.guid, answer.port)
        self.discovered.links[switch_port] = end
        self.discovered.links[end] = switch_port
        if answer.guid not in self.discovered.nodes:
            self._add(answer, (*sender.path, port), (answer.port, *sender.back))

    def _add(self, answer: Answer, path: tuple[int, ...], back: tuple[int, ...]) -> None:
        device = Device(answer.guid, answer.class_code, answer.ports, path, back)
        self.discovered.nodes[answer.guid] = device
        self._nodes.append(answer.guid)

    def _request(self, switch_port: SwitchPort | None, path: tuple[int, ...], back: tuple[int, ...]) -> bytes:
        number = self.discovered.requests % _NUMBERS
        self.discovered.requests += 1
        self._waiting[number] = switch_port
        return request(number, path, back, self._hops)
