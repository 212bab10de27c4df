"""The built-in switch in process: packet-hops a second of processor time, and where the time goes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from bench.switch.subject import TRANSIT, Transit
from emulation._engine import Network, Program
from emulation.embedded.testbed import EmbeddedTestbed

__all__ = ["hop_parts_ns", "only_copies_ns", "packet_hops_per_core_second"]

FRAMES = 400_000
WIRE = Path(__file__).resolve().parents[2] / "tests" / "programs" / "build" / "wire.json"


def packet_hops_per_core_second(testbed: EmbeddedTestbed, chosen: Transit) -> float:
    switch = testbed.fabric.node(TRANSIT).index
    return FRAMES / testbed.network.bench(switch, chosen.arrival, chosen.frame, FRAMES)


def hop_parts_ns(testbed: EmbeddedTestbed, chosen: Transit) -> list[float]:
    """Nanoseconds of one hop: copying the frame in, parser, ingress, egress, deparser."""
    switch = testbed.fabric.node(TRANSIT).index
    upto = testbed.network.profile(switch, chosen.arrival, chosen.frame, FRAMES)
    return [1e9 * seconds / FRAMES for seconds in (upto[0], *(b - a for a, b in pairwise(upto)))]


def only_copies_ns(frame: bytes) -> float:
    """One hop through a program that parses next to nothing and sends the frame on as it is."""
    network = Network()
    switch = network.add_switch("wire")
    network.set_program(switch, Program(WIRE.read_bytes()))
    return 1e9 * network.bench(switch, 0, frame, FRAMES) / FRAMES
