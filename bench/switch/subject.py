"""One transit NPU of a UB-Mesh rack and the frame that crosses it by source route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from scapy.packet import Raw

from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.layers import LPH, NTH, Ether
from emulation.traffic.frames.values import mac
from topologies import HOST_PORT, ub_rack

__all__ = ["TRANSIT", "Transit", "rack_plan", "transit"]

SOURCE, TRANSIT, TARGET = "npu0", "npu1", "npu9"


@final
@dataclass(frozen=True, slots=True)
class Transit:
    """`frame` arrives at TRANSIT on `arrival` and must leave on `departure` as `expected`."""

    arrival: int
    departure: int
    frame: bytes
    expected: bytes


def rack_plan() -> Plan:
    return make_plan(ub_rack())


def transit(testbed: EmbeddedTestbed, plan: Plan, payload_bytes: int) -> Transit:
    """Made by the switches themselves: what the source's switch sends is what the transit switch gets."""
    fabric = plan.fabric
    source, target = fabric.node(SOURCE), fabric.node(TARGET)
    bucket = plan.routes[SOURCE, TARGET].index((SOURCE, TRANSIT, TARGET))
    addresses = NTH(scna=source.address, dcna=target.address, lb=bucket)
    carrier = Ether(dst=mac(target.address), src=mac(source.address))
    sent = bytes(carrier / LPH() / addresses / Raw(bytes(payload_bytes)))
    ((out, frame),) = testbed.network.process(source.index, HOST_PORT, sent)
    assert out == fabric.port_to(SOURCE, TRANSIT)
    arrival = fabric.port_to(TRANSIT, SOURCE)
    ((departure, expected),) = testbed.network.process(fabric.node(TRANSIT).index, arrival, frame)
    assert departure == fabric.port_to(TRANSIT, TARGET)
    return Transit(arrival, departure, frame, expected)
