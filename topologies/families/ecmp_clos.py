# SPDX-License-Identifier: Apache-2.0
"""Clos of two or three tiers with ECMP: switches choose among equal uplinks by hash.

An NPU has one link, to a ToR. A ToR leads to all aggregation switches of its pod; aggregation switch k of a
pod leads to the cores k, k + aggs, k + 2 aggs, ... Without cores, the aggregation switches of the only pod
are the spines.
"""

from math import ceil
from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, bps, family, ns
from topologies.families.rails.domains import NIC_DELAY_NS, SPINE_DELAY_NS
from topologies.model import AddressPlan, Fabric, NodeKind
from topologies.model.address import CNA_BITS, padded_plan
from topologies.model.graphs import DELAY_NS, RATE_GBPS
from topologies.model.port_numbers import check_ports
from topologies.model.wiring import Wiring

__all__ = ["ecmp_clos"]

Rate = Annotated[float, Spec("rate of a link between an NPU and its ToR, each way", above=0)]
UpRate = Annotated[
    float, Spec("rate of a link to a switch of this tier; 0: the rate of the hosts", at_least=0)
]
Delay = Annotated[float, Spec("propagation delay of a link to a switch of this tier", at_least=0)]

# Value of the address field `class` of switches; NPUs have 0.
_SWITCH = 1
_CLASS_BITS = 1


@family(
    "Clos of two or three tiers whose switches choose among equal uplinks by hash (ECMP)",
    source=Source("A Scalable, Commodity Data Center Network Architecture (SIGCOMM 2008)", "section 2.2"),
)
def ecmp_clos(
    hosts: Annotated[int, Spec("NPUs below a ToR", at_least=1)] = 2,
    tors: Annotated[int, Spec("ToRs of a pod", at_least=1)] = 2,
    aggs: Annotated[int, Spec("aggregation switches of a pod", at_least=1)] = 2,
    pods: Annotated[int, Spec("pods, joined by cores", at_least=1)] = 4,
    cores: Annotated[int, Spec("cores, a multiple of aggs; 0 with a single pod", at_least=0)] = 4,
    *,
    host_gbps: Rate = RATE_GBPS,
    agg_gbps: UpRate = 0,
    core_gbps: UpRate = 0,
    tor_delay_ns: Delay = NIC_DELAY_NS,
    agg_delay_ns: Delay = SPINE_DELAY_NS,
    core_delay_ns: Delay = SPINE_DELAY_NS,
) -> Fabric:
    """Build the pods and the cores; by default a fat tree of switches with four ports.

    Oversubscription follows from the numbers of links and their rates.
    """
    if pods * tors * hosts < 2:
        raise TopologyError("ecmp-clos: one NPU makes no network", remedy="give more hosts, tors or pods")
    if pods > 1 and (not cores or cores % aggs):
        raise TopologyError(
            f"ecmp-clos: {cores} cores cannot join {pods} pods of {aggs} aggregation switches",
            remedy=f"give a multiple of aggs, such as {aggs}",
        )
    if pods == 1 and cores:
        raise TopologyError(
            f"ecmp-clos: {cores} cores would join one pod", remedy="give cores 0, or more pods"
        )
    rate = bps(host_gbps)
    rates = (rate, bps(agg_gbps) or rate, bps(core_gbps) or rate)
    delays = tuple(ns(delay) for delay in (tor_delay_ns, agg_delay_ns, core_delay_ns))
    plan = _addresses(hosts, tors, pods)
    wiring = Wiring(plan, (hosts, tors, pods), lane_rate_bps=rate, host_lanes=1)
    for number in range(pods * tors * hosts):
        tor, host = divmod(number, hosts)
        address = plan.pack(pod=tor // tors, tor=tor % tors, host=host)
        wiring.node(f"npu{number}", NodeKind.NPU, "rail_gpu", address)
    lanes = [ceil(rate_bps / rate) for rate_bps in rates]
    tiers = (
        ("tor", pods * tors, NodeKind.RAIL, hosts * lanes[0] + aggs * lanes[1]),
        ("agg", pods * aggs, NodeKind.SPINE, tors * lanes[1] + cores // aggs * lanes[2]),
        ("core", cores, NodeKind.CORE, pods * lanes[2]),
    )
    address = _SWITCH << (CNA_BITS - _CLASS_BITS)
    for tier, (name, count, kind, used) in enumerate(tiers, 1):
        for number in range(count):
            wiring.node(f"{name}{number}", kind, "rail_switch", address, tier=tier, lanes=used)
            address += 1

    def link(lower: str, upper: str, tier: int) -> None:
        labels = (f"to_{upper}", f"to_{lower}")
        wiring.link(
            lower, upper, lanes=lanes[tier], delay_ps=delays[tier], labels=labels, rate_bps=rates[tier]
        )

    for number in range(pods * tors * hosts):
        link(f"npu{number}", f"tor{number // hosts}", 0)
    for number in range(pods * tors):
        for agg in range(aggs):
            link(f"tor{number}", f"agg{number // tors * aggs + agg}", 1)
    for number in range(pods * aggs):
        for core in range(number % aggs, cores, aggs):
            link(f"agg{number}", f"core{core}", 2)
    fabric = wiring.fabric("ecmp-clos", host_delay_ps=ns(DELAY_NS), groups=((0,), (1,), (2,)), remedies={})
    check_ports(fabric, "use fewer hosts, tors, aggs or cores")
    return fabric


def _addresses(hosts: int, tors: int, pods: int) -> AddressPlan:
    """Return the address fields class, pod, ToR of the pod, NPU of the ToR; TopologyError if too wide."""
    sizes = {"pod": pods, "tor": tors, "host": hosts}
    # A field of no bits would make two prefixes of different nodes equal.
    bits = {name: max(1, (size - 1).bit_length()) for name, size in sizes.items()}
    if sum(bits.values()) > CNA_BITS - _CLASS_BITS:
        raise TopologyError(
            f"ecmp-clos: numbers of pods, ToRs and NPUs need {sum(bits.values())} bits of the "
            f"{CNA_BITS - _CLASS_BITS} of an address",
            remedy="use fewer pods, tors or hosts",
        )
    return padded_plan(_CLASS_BITS, bits)
