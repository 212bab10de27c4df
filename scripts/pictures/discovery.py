# SPDX-License-Identifier: Apache-2.0
"""A request of the topology scan and its answer, as the switches forwarded them."""

from __future__ import annotations

from controller import CPU_PORT
from controller.discovery import Hops, read_answer, request, scan_entries
from emulation.embedded.testbed import EmbeddedTestbed
from harness.run.boot import filled, read_program
from scripts.pictures.routes import Row, rows_picture
from topologies import full_mesh

__all__ = ["scan"]

_PACKET_OUT = bytes(2)
_HOPS_AT, _STEP_AT = 32, 33


def scan() -> str:
    """Draw a request over two hops of a 4x4 mesh, and its answer."""
    mesh = full_mesh((4, 4))
    there = [mesh.port_to("npu0", "npu1"), mesh.port_to("npu1", "npu13")]
    back = [0, mesh.port_to("npu1", "npu0")]
    program = dict.fromkeys((node.name for node in mesh.nodes), read_program("ub_scan"))
    crossings: list[tuple[str, int, bytes]] = []  # node, egress port and frame
    testbed = EmbeddedTestbed(mesh)
    with filled(testbed, program, scan_entries(mesh)):
        node, port, frame = "npu0", CPU_PORT, _PACKET_OUT + request(7, there, back, Hops.BITS_8)
        while not crossings or crossings[-1][1] != CPU_PORT:
            ((leaves, frame),) = testbed.network.process(mesh.node(node).index, port, frame)
            crossings.append((node, leaves, frame))
            peer = mesh.peer(node, leaves)
            if peer is not None:
                node, port = peer.node, peer.port
    labels = [
        (f"port {leaves}", f"step {sent[_STEP_AT]} of {sent[_HOPS_AT]}") for _, leaves, sent in crossings[:4]
    ]
    names = [name for name, _, _ in crossings]
    answer = read_answer(crossings[2][2])
    assert answer is not None
    asked = Row(
        f"request: ports {there[0]}, {there[1]}; the way back: port of arrival, {back[1]}",
        [(names[0],), (names[1],), (names[2], "end of the path")],
        labels[:2],
    )
    answered = Row(
        f"answer: GUID ...{answer.guid & 0xFFFF:04x}, {answer.ports} ports, arrival at port {answer.port}",
        [(names[2],), (names[3],), (names[4], "to the controller")],
        labels[2:],
    )
    return rows_picture("A request of the topology scan and its answer", [asked, answered])
