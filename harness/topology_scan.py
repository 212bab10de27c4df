# SPDX-License-Identifier: Apache-2.0
"""A topology scan of an emulated fabric: every node runs ub_scan; a controller at one node discovers all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from controller.discovery import Discovered, Hops, TopologyScan, scan_entries
from controller.errors import PlanError
from emulation.embedded.testbed import EmbeddedTestbed
from harness.run.boot import Booted, filled, read_program
from topologies import HOST_PORT, Fabric

__all__ = ["SCAN_PROGRAM", "hops_for", "scan_fabric"]

SCAN_PROGRAM = "ub_scan"


def hops_for(fabric: Fabric) -> Hops:
    """Return the width of a hop that the ports of a fabric need: 8 bits, or 16 beyond port 255."""
    largest = max((port.number for node in fabric.nodes for port in node.ports), default=HOST_PORT)
    return Hops.BITS_8 if largest < 1 << Hops.BITS_8.bits else Hops.BITS_16


def scan_fabric(fabric: Fabric, root: str = "", hops: Hops | None = None) -> tuple[Discovered, int]:
    """Return what a scan of a fabric discovers, and the virtual time that it takes, in ps.

    Args:
        fabric: the fabric as its cables are; the controller does not see it.
        root: node at which the controller is; empty for the first node.
        hops: width of a hop; None for the width that the fabric's ports need.

    Raises:
        TopologyError: `root` is no node.
        PlanError: A node is farther away than a path of this width reaches.
    """
    start = fabric.node(root).name if root else fabric.nodes[0].name
    program = read_program(SCAN_PROGRAM)
    programs = {node.name: program for node in fabric.nodes}
    testbed = EmbeddedTestbed(fabric)
    with filled(testbed, programs, scan_entries(fabric)) as up:
        return _Driver(up, start).scan(TopologyScan(hops_for(fabric) if hops is None else hops))


@final
class _Driver:
    """Sends the requests of a scan through the root; virtual time tells when a wave has ended."""

    def __init__(self, up: Booted, root: str) -> None:
        self._up, self._root = up, root
        self._arrived: list[str] = []
        up.testbed.on_packet_in = self._arrived.append

    def scan(self, scan: TopologyScan) -> tuple[Discovered, int]:
        while wave := scan.next_wave():
            for frame in self._exchange(wave):
                scan.receive(frame)
        return scan.discovered, self._up.testbed.now_ps

    def _exchange(self, frames: Sequence[bytes]) -> list[bytes]:
        client = self._up.client
        for frame in frames:
            client.packet_out(self._root, frame)
        client.barrier(self._root)
        self._up.testbed.run()
        strangers = [node for node in self._arrived if node != self._root]
        if strangers:
            raise PlanError(f"answers of the scan at {strangers[0]}", remedy=f"scan from {self._root} alone")
        answers = [client.packet_in(self._root).payload for _ in self._arrived]
        self._arrived.clear()
        return answers
