# SPDX-License-Identifier: Apache-2.0
"""Rings of circuits on a single optical switch: a small fabric to try optical switches."""

from math import gcd
from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Spec, bps, family, ns, us
from topologies.families.full_mesh import (
    CLASS_BITS,
    LANE_RATE_GBPS,
    LINK_DELAY_NS,
    NPU_LANES,
    HostLanes,
    LaneRate,
    LinkDelay,
    LinkLanes,
)
from topologies.families.rails.domains import RECONFIGURATION_US, Reconfiguration
from topologies.model import (
    HOST_PORT,
    End,
    Fabric,
    Node,
    NodeKind,
    OpticalSwitch,
    Port,
)
from topologies.model.address import CNA_BITS, padded_plan
from topologies.model.port_numbers import MAX_PORT
from topologies.transform.circuits import with_circuits

__all__ = ["optical_rings"]

MAX_NPUS = 1 << (CNA_BITS - CLASS_BITS)


@family("NPUs in rings of circuits, every port on one optical switch: a fabric for labs")
def optical_rings(
    npus: Annotated[int, Spec("NPUs", at_least=2, at_most=MAX_NPUS)] = 8,
    *,
    ports: Annotated[int, Spec("ports of an NPU, an even number: a ring takes two", at_least=2)] = 2,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: LinkLanes = 4,
    delay_ns: LinkDelay = LINK_DELAY_NS,
    reconfiguration_us: Reconfiguration = RECONFIGURATION_US,
    host_lanes: HostLanes = NPU_LANES,
) -> Fabric:
    """Build NPUs around one optical switch; its circuits join the NPUs into rings.

    Ports 1 and 2 of all NPUs are the first plane, ports 3 and 4 the second, and so on. Each plane is a ring:
    the odd port leads to the next NPU of the ring, the even port to the previous NPU. The step of the first
    ring is one NPU. The step of each further ring is the next number coprime to `npus`, up to half of `npus`;
    after the last one, steps repeat from one. Port p of NPU i is port `i * ports + p - 1` of the switch.
    """
    if ports % 2 or ports > MAX_PORT:
        raise TopologyError(
            f"ports is {ports}, which is not an even number up to {MAX_PORT - 1}",
            remedy=f"give an even number up to {MAX_PORT - 1}: a ring takes two of an NPU",
        )
    lane_rate_bps, delay_ps = bps(lane_rate_gbps), ns(delay_ns)
    bits = (npus - 1).bit_length()
    plan = padded_plan(CLASS_BITS, {"d0": bits})
    own = (Port(HOST_PORT, "host", host_lanes, None),)
    named = tuple(
        Port(number, f"{'on' if number % 2 else 'back'}{(number - 1) // 2}", lanes, 0)
        for number in range(1, ports + 1)
    )
    switch = OpticalSwitch(
        name="ocs0",
        ends=tuple(End(f"npu{npu}", port) for npu in range(npus) for port in range(1, ports + 1)),
        lanes=lanes,
        rate_bps=lanes * lane_rate_bps,
        delay_ps=delay_ps,
        reconfiguration_ps=us(reconfiguration_us),
    )
    fabric = Fabric(
        name=f"optical-rings-{npus}x{ports}",
        dims=(npus,),
        nodes=tuple(
            Node(f"npu{npu}", npu, NodeKind.NPU, "ub_npu", plan.pack(d0=npu), (npu,), own + named)
            for npu in range(npus)
        ),
        links=(),
        address_plan=plan,
        lane_rate_bps=lane_rate_bps,
        host_lanes=host_lanes,
        host_delay_ps=delay_ps,
        groups=((0,),),
        optical=(switch,),
    )
    steps = [step for step in range(1, npus // 2 + 1) if gcd(step, npus) == 1]
    joined = {
        npu * ports + 2 * plane: (npu + steps[plane % len(steps)]) % npus * ports + 2 * plane + 1
        for npu in range(npus)
        for plane in range(ports // 2)
    }
    return with_circuits(fabric, switch.name, joined)
