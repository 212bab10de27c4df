# SPDX-License-Identifier: Apache-2.0
"""p4lang/tutorials on the embedded testbed, driven from Scapy: their solutions, topologies and entries.

RAILYARD_TUTORIALS is a checkout of the tutorials; without it, or without p4c, all of this is skipped.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.fields import BitField
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

import railyard

EXERCISES = Path(os.environ.get("RAILYARD_TUTORIALS", "none"), "exercises")
TTL = 64


def missing() -> str:
    if not EXERCISES.is_dir():
        return "RAILYARD_TUTORIALS names no checkout of p4lang/tutorials"
    return "" if shutil.which("p4c-bm2-ss") else "p4c-bm2-ss is not installed"


pytestmark = pytest.mark.skipif(bool(why := missing()), reason=why or "all there")


class Route(Packet):
    """A hop of a source route; the last has `bos` 1."""

    name = "Route"
    fields_desc = [BitField("bos", 0, 1), BitField("port", 0, 15)]  # noqa: RUF012


@contextmanager
def exercise(name: str, topology: str = ".") -> Iterator[railyard.ProgramTestbed]:
    """Start the solution of an exercise with the topology and the entries of a folder."""
    folder = EXERCISES / name
    fabric = railyard.load_fabric(folder / topology / "topology.json")
    program = folder / "solution" / f"{name}.p4"
    with railyard.program_testbed(fabric, program, entries=folder / topology) as bed:
        yield bed


def ip(destination: str, port: int = 50000) -> Packet:
    return IP(src="10.0.1.1", dst=destination) / TCP(sport=port, dport=1234) / b"P4 is cool"


def test_basic_forwards_between_all_hosts() -> None:
    with exercise("basic", "pod-topo") as bed:
        hosts = [f"h{number}" for number in range(1, 5)]
        for source in hosts:
            for number in range(1, 5):
                bed.send(source, bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / ip(f"10.0.{number}.{number}")))
        bed.run()
        for number, host in enumerate(hosts, 1):
            frames = [Ether(frame) for frame in bed.received(host)]
            assert {frame.dst for frame in frames} == {f"08:00:00:00:0{number}:{number}{number}"}
            # Two hosts at each of two switches, which two others join: one switch, or three.
            assert sorted(frame[IP].ttl for frame in frames) == [TTL - 3] * 2 + [TTL - 1] * 2


def test_source_routing_follows_the_ports_of_the_frame() -> None:
    with exercise("source_routing") as bed:
        ports = [2, 3, 2, 2, 1]
        frame = Ether(type=0x1234)
        for number, port in enumerate(ports, 1):
            frame /= Route(port=port, bos=number == len(ports))
        bed.send("h1", bytes(frame / IP(dst="10.0.2.2") / UDP()))
        bed.run()
        (arrived,) = map(Ether, bed.received("h2"))
        assert (arrived.type, arrived[IP].ttl) == (0x0800, TTL - len(ports))
        assert not bed.received("h3")


def test_load_balance_spreads_flows_and_keeps_each_on_its_path() -> None:
    with exercise("load_balance") as bed:
        for port in range(50000, 50064):
            for _ in range(2):
                bed.send("h1", bytes(Ether() / ip("10.0.0.1", port)))
        bed.run()
        flows = {host: [Ether(frame)[TCP].sport for frame in bed.received(host)] for host in ("h2", "h3")}
        assert sorted(flows["h2"] + flows["h3"]) == sorted(2 * list(range(50000, 50064)))
        assert set(flows["h2"]).isdisjoint(flows["h3"])
        assert min(map(len, flows.values())) > 32
        assert {Ether(frame)[IP].dst for frame in bed.received("h2")} == {"10.0.2.2"}


def test_basic_from_its_own_folder() -> None:
    """The Makefile names the topology, the topology the entries, the entries the program and its p4info."""
    folder = EXERCISES / "basic"
    with railyard.exercise_testbed(folder, folder / "solution" / "basic.p4") as bed:
        bed.send("h1", bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / ip("10.0.3.3")))
        bed.run()
        (arrived,) = map(Ether, bed.received("h3"))
        assert (arrived[IP].ttl, arrived.dst) == (TTL - 3, "08:00:00:00:03:33")


def test_multicast_from_its_own_folder() -> None:
    folder = EXERCISES / "multicast"
    with railyard.exercise_testbed(folder, folder / "solution" / "multicast.p4") as bed:
        bed.send("h1", bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / ip("10.0.0.255")))
        bed.run()
        arrived = {host: len(bed.received(host)) for host in ("h1", "h2", "h3", "h4")}
        assert arrived == {"h1": 0, "h2": 1, "h3": 1, "h4": 0}, "the group of its entries has ports 1 to 3"
