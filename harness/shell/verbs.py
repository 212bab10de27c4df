# SPDX-License-Identifier: Apache-2.0
"""Commands for a running Mininet fabric: each takes the words of a line and yields lines of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import final

from controller.p4runtime.client import P4RuntimeClient
from controller.plan.entry import CPU_PORT
from emulation.errors import TestbedError
from emulation.mininet.net import Verb
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.frames.layers import LPH, SRH, Ether
from harness.frames.craft import Order, craft
from harness.frames.steps import drop_reason
from harness.shell.arguments import FRAME_OPTIONS, completions, frame_order, links_of, words_of
from harness.shell.probe import HOST, Probe, Sighting, Trace

__all__ = ["QUIET_SECONDS", "verbs"]

QUIET_SECONDS = 3.0
"""Seconds without a sighting after which a sent frame counts as lost."""

_LULL_SECONDS = 0.05
_LANES = 4  # Virtual lanes of a port in the counter tx_by_port_vl.
_MOST_LOST = 5


def verbs(testbed: MininetTestbed, client: P4RuntimeClient) -> Mapping[str, Verb]:
    """Return the commands for a running testbed by name; `client` reads the counters of the switches."""
    fabric = _Fabric(testbed, client)
    names = [*testbed.namespaces, *(link.name for link in testbed.fabric.links)]
    nodes = [node.name for node in testbed.fabric.nodes]
    links = [link.name for link in testbed.fabric.links]
    hosts = [*testbed.namespaces]
    return {
        "cut": Verb(
            fabric.cut, "cut LINK | NODE NODE | NODE: take a link, or a host's link, down", _of(names)
        ),
        "restore": Verb(
            fabric.restore, "restore LINK | NODE NODE | NODE: bring a link, or a host's link, up", _of(names)
        ),
        "craft": Verb(
            fabric.craft,
            f"craft SOURCE DESTINATION [{' | '.join(FRAME_OPTIONS)}]: send a frame, and follow it",
            _of([*hosts, *FRAME_OPTIONS]),
        ),
        "path": Verb(
            fabric.path, "path SOURCE DESTINATION [BUCKET]: send a data frame, and follow it", _of(hosts)
        ),
        "pingall": Verb(
            fabric.pingall, "pingall [SECONDS]: send a UB frame from every host to every other", _of(())
        ),
        "counters": Verb(
            fabric.counters,
            "counters [NODE | LINK]: frames of all links, of a switch's ports, of a link",
            _of([*nodes, *links]),
        ),
        "capture": Verb(
            fabric.capture, "capture LINK FILE: write a link's frames to a pcap file until exit", _of(links)
        ),
    }


def _of(words: Sequence[str]) -> Callable[[str, int, int], list[str]]:
    return lambda line, begin, end: completions(line, begin, end, words)


@final
class _Fabric:
    """Implements the commands on a running testbed."""

    def __init__(self, testbed: MininetTestbed, client: P4RuntimeClient) -> None:
        self._testbed = testbed
        self._fabric = testbed.fabric
        self._client = client

    def cut(self, line: str) -> Iterator[str]:
        yield from self._set(line, "cut", False)

    def restore(self, line: str) -> Iterator[str]:
        yield from self._set(line, "restore", True)

    def _set(self, line: str, verb: str, up: bool) -> Iterator[str]:
        words = words_of(line, f"{verb} LINK, or {verb} NODE NODE", 1, 2)
        state = "up" if up else "down"
        if len(words) == 1 and words[0] in self._testbed.namespaces:
            self._testbed.set_host_link(words[0], up)
            yield f"the link to the host of {words[0]} is {state}"
            return
        for link in links_of(self._fabric, words):
            self._testbed.set_link(link, up)
            yield f"{link} is {state}"

    def craft(self, line: str) -> Iterator[str]:
        yield from self._follow(frame_order(line))

    def path(self, line: str) -> Iterator[str]:
        source, destination, *bucket = words_of(line, "path SOURCE DESTINATION [BUCKET]", 2, 3)
        number = bucket[0] if bucket else "0"
        if not number.isdecimal() or int(number) > 15:
            raise TestbedError(f"bucket {number!r} does not exist", remedy="name a path bucket from 0 to 15")
        order = Order(source, destination, bucket=int(number), payload=os.urandom(8))
        yield from self._follow(order)

    def _follow(self, order: Order) -> Iterator[str]:
        frame = bytes(craft(self._fabric, order))
        with Probe(self._testbed) as probe:
            trace = probe.trace(order.source, frame, QUIET_SECONDS)
        yield f"{len(frame)} bytes from the host of {order.source}"
        yield from self._hops(trace)
        if trace.host is None:
            yield self._lost(trace.sightings[-1] if trace.sightings else None)
        else:
            sent = [item for item in trace.sightings if not item.received and item.port is not HOST]
            yield f"the host of {trace.host} has received it after {len(sent)} switches"

    def _hops(self, trace: Trace) -> Iterator[str]:
        """Yield a line for each switch that forwarded the frame: ports, egress lane and source route."""
        arrived: Sighting | None = None
        for sighting in trace.sightings:
            if sighting.port is HOST:
                continue
            if sighting.received:
                arrived = sighting
                continue
            enters = "" if arrived is None or arrived.node != sighting.node else arrived.port
            frame = Ether(sighting.frame)
            lane = f"VL {frame[LPH].vl}" if LPH in frame else "no LPH"
            route = f", ptr {frame[SRH].ptr} of route {frame[SRH].instr}" if SRH in frame else ""
            yield f"  {sighting.node}: in by {enters}, out by {self._port(sighting)}, {lane}{route}"

    def _port(self, sighting: Sighting) -> str:
        assert sighting.port is not None
        neighbour = self._fabric.peer(sighting.node, sighting.port)
        return f"{sighting.port} to {neighbour.node if neighbour else 'its host'}"

    def _lost(self, last: Sighting | None) -> str:
        if last is None:
            return "the frame is lost: the link of its host is down"
        if last.port is HOST:
            return f"the frame is lost between the host of {last.node} and its switch"
        if last.received:
            reason = f"`counters {last.node}` may name the reason"
            return f"the frame is lost in {last.node}, or at one of its ports that is down: {reason}"
        return f"the frame is lost on the link at {last.node} port {self._port(last)}"

    def pingall(self, line: str) -> Iterator[str]:
        words = words_of(line, "pingall [SECONDS]", 0, 1)
        try:
            quiet = float(words[0]) if words else QUIET_SECONDS
        except ValueError:
            raise TestbedError(
                f"{words[0]!r} is no number of seconds", remedy="type for example pingall 3"
            ) from None
        hosts = list(self._testbed.namespaces)
        yield "*** Ping: a UB frame from every host to every other"
        last = self._send_all(hosts, quiet)
        lost = {pair: seen for pair, seen in last.items() if not _arrived(seen, pair[1])}
        for source in hosts:
            row = ["X" if (source, other) in lost else other for other in hosts if other != source]
            yield f"{source} -> {' '.join(row)}"
        share = round(100 * len(lost) / len(last)) if last else 0
        yield f"*** Results: {share}% dropped ({len(last) - len(lost)}/{len(last)} received)"
        for (source, destination), seen in list(lost.items())[:_MOST_LOST]:
            yield f"{source} -> {destination}: {self._lost(seen)}"

    def _send_all(self, hosts: list[str], quiet: float) -> dict[tuple[str, str], Sighting | None]:
        """Send a frame for each pair of hosts; return the last sighting of each frame.

        In round r, host i sends to host i + r. After all rounds, frames that have not yet arrived are awaited
        until no frame was seen for `quiet` seconds.
        """
        last: dict[tuple[str, str], Sighting | None] = {}
        pairs: dict[bytes, tuple[str, str]] = {}
        missing: set[tuple[str, str]] = set()
        mark = os.urandom(4)

        def take(seconds: float) -> None:
            for sighting in probe.sightings(seconds) if missing else ():
                pair = pairs.get(sighting.frame[-8:])
                if pair is not None:
                    last[pair] = sighting
                    if _arrived(sighting, pair[1]):
                        missing.discard(pair)
                if not missing:
                    return

        with Probe(self._testbed) as probe:
            for distance in range(1, len(hosts)):
                for index, source in enumerate(hosts):
                    pair = source, hosts[(index + distance) % len(hosts)]
                    label = mark + len(pairs).to_bytes(4, "big")
                    pairs[label], last[pair] = pair, None
                    missing.add(pair)
                    order = Order(*pair, bucket=distance % 16, payload=label)
                    try:
                        probe.send(source, bytes(craft(self._fabric, order)))
                    except TestbedError:
                        continue  # The link of the host is down; the frame stays missing.
                take(_LULL_SECONDS)
            take(quiet)
        return last

    def counters(self, line: str) -> Iterator[str]:
        words = words_of(line, "counters [NODE | LINK]", 0, 2)
        if len(words) == 1 and any(node.name == words[0] for node in self._fabric.nodes):
            yield from self._switch_counters(words[0])
            return
        links = links_of(self._fabric, words) if words else [link.name for link in self._fabric.links]
        carried = self._testbed.carried()
        for name in links:
            link = self._fabric.link(name)
            there, back = carried[name]
            yield f"{name}: {there} frames from {link.a.node}, {back} from {link.b.node}"

    def _switch_counters(self, node: str) -> Iterator[str]:
        for index, (packets, octets) in sorted(self._client.read_counter(node, "tx_by_port_vl").items()):
            if packets:
                port, lane = divmod(index, _LANES)
                neighbour = self._fabric.peer(node, port)
                own = "its controller" if port == CPU_PORT else "its host"
                where = neighbour.node if neighbour else own
                yield f"port {port} to {where}, VL {lane}: {packets} frames, {octets} bytes"
        for reason, (packets, _) in sorted(self._client.read_counter(node, "drops").items()):
            if packets:
                yield f"dropped, {drop_reason([reason])}: {packets} frames"

    def capture(self, line: str) -> Iterator[str]:
        link, file = words_of(line, "capture LINK FILE", 2, 2)
        self._testbed.record(links_of(self._fabric, [link])[0], Path(file))
        yield f"frames of {link} go to {file} until exit; every frame is in the file as soon as it has passed"


def _arrived(sighting: Sighting | None, destination: str) -> bool:
    if sighting is None or sighting.node != destination:
        return False
    return sighting.received and sighting.port is HOST
