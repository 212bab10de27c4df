# SPDX-License-Identifier: Apache-2.0
"""Topology scan of an emulated fabric: every node runs ub_scan, and a controller finds all nodes."""

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
    """Return the width of a hop in scan requests: 8 bits, or 16 bits if a port number exceeds 255."""
    largest = max((port.number for node in fabric.nodes for port in node.ports), default=HOST_PORT)
    return Hops.BITS_8 if largest < 1 << Hops.BITS_8.bits else Hops.BITS_16


def scan_fabric(fabric: Fabric, root: str = "", hops: Hops | None = None) -> tuple[Discovered, int]:
    """Scan a fabric; return the discovered nodes and links, and the virtual time of the scan in picoseconds.

    Args:
        fabric: the fabric as it is cabled; the controller does not see it.
        root: node of the controller; empty for the first node.
        hops: width of a hop in the requests; None for the width that the fabric's port numbers need.

    Raises:
        TopologyError: The fabric has no node `root`.
        PlanError: A node has more hops to the root than a request with hops of this width can carry.
    """
    start = fabric.node(root).name if root else fabric.nodes[0].name
    program = read_program(SCAN_PROGRAM)
    programs = {node.name: program for node in fabric.nodes}
    testbed = EmbeddedTestbed(fabric)
    with filled(testbed, programs, scan_entries(fabric)) as up:
        return _Driver(up, start).scan(TopologyScan(hops_for(fabric) if hops is None else hops))


@final
class _Driver:
    """Sends the requests of a scan in waves from the root; a wave ends when the testbed has no event left."""

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
            raise PlanError(
                f"an answer to the scan by {self._root} arrived at {strangers[0]} instead",
                remedy="run no other scan on this testbed",
            )
        answers = [client.packet_in(self._root).payload for _ in self._arrived]
        self._arrived.clear()
        return answers
