# SPDX-License-Identifier: Apache-2.0
"""A UB-Mesh Pod whole, 1,024 NPUs and 1,184 switches, spares and CPUs: its boot, its memory, its packet-hops.

`python -m bench.pod` prints JSON. Every NPU is planned for 12 peers each way, so that its tables hold about
what a job's would, and then sends each of them a frame by every path bucket, all at once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import final

from scapy.packet import Raw

from bench.memory import proportional_mib
from controller.plan.entry import BUCKETS
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.layers import LPH, NTH, Ether
from emulation.traffic.frames.values import mac
from harness.run.boot import booted
from topologies import NodeKind
from topologies.families.ub_mesh.fabrics import ub_pod

__all__ = ["pod_figures", "pod_plan"]

# In the order of NPUs: on the board, in the rack, in other racks.
_STRIDES = (1, 2, 4, 8, 16, 24, 32, 64, 128, 192, 256, 512)
_PAYLOAD_BYTES = 1_000
_LB_AT = 24  # Ethernet 14 bytes, LPH 4, three numbers of NTH


def pod_plan() -> Plan:
    fabric = ub_pod()
    npus = [node.name for node in fabric.nodes if node.kind is NodeKind.NPU]
    pairs = [(npu, npus[(at + by) % len(npus)]) for at, npu in enumerate(npus) for by in _STRIDES]
    return make_plan(fabric, peers=pairs)


@final
class _Sender:
    """Sends what it is given, and counts what comes."""

    failed = done = False

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = [(frame, 0) for frame in frames]
        self.received = 0

    def start(self, now: int) -> tuple[list[tuple[bytes, int]], None]:
        return self._frames, None

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], None]:
        self.received += 1
        return [], None

    def on_timer(self, now: int) -> tuple[list[tuple[bytes, int]], None]:
        return [], None


def _frames(plan: Plan, source: str, destinations: list[str]) -> Iterator[bytes]:
    here = plan.fabric.node(source).address
    for destination in destinations:
        there = plan.fabric.node(destination).address
        link = Ether(dst=mac(there), src=mac(here)) / LPH()
        frame = bytearray(bytes(link / NTH(scna=here, dcna=there) / Raw(bytes(_PAYLOAD_BYTES))))
        for bucket in range(BUCKETS):  # not by Scapy, which takes its time
            frame[_LB_AT] = bucket
            yield bytes(frame)


def pod_figures() -> dict[str, float]:
    """Boot in seconds from nothing to the last entry; memory of the process with the plan in it; hops.

    A packet-hop is a pass through a switch's program; what a second of processor time counts has the links,
    their queues and the hosts in it, too.
    """
    began = time.perf_counter()
    plan = pod_plan()
    planned = time.perf_counter() - began
    peers: dict[str, list[str]] = {}
    for source, destination in plan.routes:
        peers.setdefault(source, []).append(destination)
    testbed = EmbeddedTestbed(plan.fabric)
    with booted(testbed, plan) as up:
        mib = proportional_mib("self")
        senders = {source: _Sender(list(_frames(plan, source, own))) for source, own in peers.items()}
        for source, sender in senders.items():
            testbed.attach(source, sender)
        began = time.thread_time()
        testbed.run()
        seconds = time.thread_time() - began
        received = sum(sender.received for sender in senders.values())
    if received != sum(map(len, plan.routes.values())):
        raise RuntimeError(f"{received} frames have arrived of {sum(map(len, plan.routes.values()))}")
    hops = sum(len(path) for paths in plan.routes.values() for path in paths)
    return {
        "switches": len(plan.fabric.nodes),
        "links": len(plan.fabric.links),
        "table_entries": up.entries,
        "plan_seconds": planned,
        "boot_seconds": up.seconds,
        "mib": mib,
        "packet_hops": hops,
        "packet_hops_per_core_second": hops / seconds,
    }


if __name__ == "__main__":
    json.dump(pod_figures(), sys.stdout, indent=2)
    print()
