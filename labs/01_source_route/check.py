# SPDX-License-Identifier: Apache-2.0
"""Check of lab 1: the student's P4, compiled and run hop by hop; every byte is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from controller.paths.source_route import HEADER_BYTES, MAX_HOPS, MAX_INSTRUCTIONS, SourceRoute, encode
from controller.plan.entry import Entry, Exact
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.host.saturate import ROUTE_AT, steered_frame
from harness.lessons.attempt import Attempt, Verdict, failed, passed
from harness.lessons.p4_program import compiled_program
from harness.run.boot import filled
from topologies import HOST_PORT, Fabric, Node, full_mesh

FILE = "source_route.p4"
ROUTES = 200
FRAME_BYTES = 96

# Bytes of the link packet header that say which header follows, and the code for a network header alone.
CFG_AT, NETWORK = 15, 0x06


@dataclass(frozen=True)
class Case:
    """A frame that enters a node from its host, with its source route, or None for a frame without."""

    node: int
    target: int
    route: SourceRoute | None

    def __str__(self) -> str:
        if self.route is None:
            return f"a frame from npu{self.node} to npu{self.target} without a route"
        ports = " ".join(map(str, self.route.instructions))
        return (
            f"a frame from npu{self.node} to npu{self.target} with ptr {self.route.ptr}, "
            f"bitmap {self.route.bitmap:012b}, instr {ports}"
        )


class Bench:
    """The student's program on every node of a full mesh whose tables lead straight to each destination."""

    def __init__(self, testbed: EmbeddedTestbed) -> None:
        self.testbed = testbed
        self.fabric = testbed.fabric

    def follow(self, case: Case) -> str:
        """Send a frame and follow it hop by hop; return what went wrong, or ''."""
        node, port, route = case.node, HOST_PORT, case.route
        frame = _frame(self.fabric, case)
        for hop in range(MAX_HOPS + 2):
            expected = _expected(self.fabric, node, case.target, route)
            results = self.testbed.network.process(node, port, frame)
            where = f"{case}: hop {hop + 1}, at npu{node}"
            if expected is None:
                return f"{where}, should be dropped and went to port {results[0][0]}" if results else ""
            egress, route = expected
            if len(results) != 1:
                return f"{where}, should go to port {egress} and left {len(results)} times"
            if results[0][0] != egress:
                return f"{where}, should go to port {egress} and went to port {results[0][0]}"
            frame = _with_route(frame, route)
            if results[0][1] != frame:
                return f"{where}, has other bytes: {_difference(results[0][1], frame)}"
            if egress == HOST_PORT:
                return ""
            peer = self.fabric.peer(f"npu{node}", egress)
            if peer is None:
                return ""
            node, port = self.fabric.node(peer.node).index, peer.port
        return ""


def steered(attempt: Attempt) -> Verdict:
    """Follow frames with instructions for every hop until the last, and frames without a route."""
    return _judged(attempt, "steered", "take the ports of their instructions", draw_steered)


def mixed(attempt: Attempt) -> Verdict:
    """Follow frames whose bitmaps leave some hops to the tables."""
    return _judged(attempt, "mixed", "take instructions and tables in turn, byte by byte", draw_mixed)


def malformed(attempt: Attempt) -> Verdict:
    """Send headers that ask for a seventh instruction or a thirteenth hop among good headers."""
    return _judged(attempt, "malformed", "are dropped if malformed, and only then", draw_malformed)


def draw_steered(random: Random, size: int) -> Case:
    """Draw a route of instructions until the last hop, or no route."""
    node, target = random.sample(range(size), 2)
    if random.random() < 0.2:
        return Case(node, target, None)
    hops = random.randrange(1, MAX_INSTRUCTIONS)
    ports = [*(random.randrange(1, size) for _ in range(hops)), HOST_PORT]
    bitmap = sum(0x800 >> place for place in range(len(ports)))
    return Case(node, target, SourceRoute(0, bitmap, _six(ports)))


def draw_mixed(random: Random, size: int) -> Case:
    """Draw a route that leaves some hops to the tables."""
    node, target = random.sample(range(size), 2)
    instructions = random.randrange(1, MAX_INSTRUCTIONS + 1)
    places = random.sample(range(MAX_HOPS - 1), instructions)
    bitmap = sum(0x800 >> place for place in places)
    ports = [random.randrange(1, size) for _ in range(MAX_INSTRUCTIONS)]
    return Case(node, target, SourceRoute(0, bitmap, _six(ports)))


def draw_malformed(random: Random, size: int) -> Case:
    """Draw a header that may ask for a seventh instruction or a thirteenth hop."""
    node, target = random.sample(range(size), 2)
    kind = random.randrange(3)
    count = random.randrange(MAX_INSTRUCTIONS + 1, MAX_HOPS + 1) if kind == 0 else random.randrange(1, 7)
    bitmap = sum(0x800 >> place for place in random.sample(range(MAX_HOPS), count))
    ptr = random.randrange(MAX_HOPS, 16) if kind == 1 else random.randrange(MAX_HOPS)
    ports = [random.randrange(1, size) for _ in range(MAX_INSTRUCTIONS)]
    return Case(node, target, SourceRoute(ptr, bitmap, _six(ports)))


def _judged(attempt: Attempt, purpose: str, what: str, draw: Callable[[Random, int], Case]) -> Verdict:
    random = attempt.random(purpose)
    fabric = full_mesh((random.choice((5, 6, 7)),))
    cases = [draw(random, len(fabric.nodes)) for _ in range(ROUTES)]
    expected = f"{ROUTES} drawn frames in a mesh of {len(fabric.nodes)} {what}"
    wrong = []
    with _running(attempt, fabric) as bench:
        for case in cases:
            if why := bench.follow(case):
                wrong.append(why)
    if wrong:
        return failed(expected, f"{len(wrong)} did not; {wrong[0]}", FILE)
    return passed(expected, "all did")


@contextmanager
def _running(attempt: Attempt, fabric: Fabric) -> Iterator[Bench]:
    program = compiled_program(attempt)
    entries = {node.name: _table(fabric, node) for node in fabric.nodes}
    testbed = EmbeddedTestbed(fabric)
    with filled(testbed, dict.fromkeys(entries, program), entries):
        yield Bench(testbed)


def _table(fabric: Fabric, node: Node) -> list[Entry]:
    """Return the entries of `forward`: the port straight to each destination."""
    ports = (
        (target, HOST_PORT if target is node else fabric.port_to(node.name, target.name))
        for target in fabric.nodes
    )
    return [
        Entry("forward", (("dcna", Exact(target.address)),), "set_port", (("port", port),))
        for target, port in ports
    ]


def _expected(
    fabric: Fabric, node: int, target: int, route: SourceRoute | None
) -> tuple[int, SourceRoute | None] | None:
    """Return the egress port and the route behind a hop, or None for a frame to be dropped."""
    by_table = HOST_PORT if node == target else fabric.port_to(f"npu{node}", f"npu{target}")
    if route is None:
        return by_table, None
    if route.ptr >= MAX_HOPS or route.bitmap.bit_count() > MAX_INSTRUCTIONS:
        return None
    bits = f"{route.bitmap:012b}"
    steered = bits[route.ptr] == "1"
    port = route.instructions[bits[: route.ptr].count("1")] if steered else by_table
    return port, SourceRoute(route.ptr + 1, route.bitmap, route.instructions)


def _frame(fabric: Fabric, case: Case) -> bytes:
    ends = (fabric.node(f"npu{node}").address for node in (case.node, case.target))
    frame = steered_frame(*ends, [1], FRAME_BYTES)
    if case.route is not None:
        return _with_route(frame, case.route)
    plain = frame[:ROUTE_AT] + frame[ROUTE_AT + HEADER_BYTES :]
    return plain[:CFG_AT] + bytes([plain[CFG_AT] & 0xF0 | NETWORK]) + plain[CFG_AT + 1 :]


def _with_route(frame: bytes, route: SourceRoute | None) -> bytes:
    if route is None:
        return frame
    return frame[:ROUTE_AT] + encode(route) + frame[ROUTE_AT + HEADER_BYTES :]


def _six(ports: list[int]) -> tuple[int, ...]:
    return (*ports, *[0] * (MAX_INSTRUCTIONS - len(ports)))


def _difference(came_out: bytes, expected: bytes) -> str:
    if len(came_out) != len(expected):
        return f"{len(came_out)} in place of {len(expected)}"
    at = next(place for place, (a, b) in enumerate(zip(came_out, expected, strict=True)) if a != b)
    if at == ROUTE_AT:
        return f"ptr is {came_out[at] >> 4} and should be {expected[at] >> 4}"
    return f"byte {at} is {came_out[at]:#04x} and should be {expected[at]:#04x}"
