# SPDX-License-Identifier: Apache-2.0
"""HPN: hosts whose NICs have two ports, to two ToRs each, and a plane of switches for each port.

A segment has hosts of `rails` GPUs and a set of ToRs for each rail. Every NIC has a port to each ToR of its
set. ToR 0 of all sets leads to the aggregation switches of plane 0, ToR 1 to the switches of plane 1. The
choice of a NIC port therefore determines the ToR at which a frame arrives; a hash chooses only the uplink of
the first ToR.

Baselines:

    one plane  both ToRs of a set lead to the same aggregation switches (a typical Clos)
    one ToR    a set has one ToR, and a NIC has one port of twice the rate
    DCN+       a Clos of three tiers; a set has two ToRs and serves all rails

Sizes are the paper's (HPN, structure) unless stated otherwise. Ports of a switch are counted in NIC ports of
200 Gbit/s: a chip of 51.2 Tbit/s has 256.
"""

from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import Annotated, final

from topologies.families.declaration import Source, Spec, bps, family, ns
from topologies.families.full_mesh import LINK_DELAY_NS
from topologies.families.hpn.shape import CABLE_LANES, SWITCH_LANES, Shape, Tors, planned
from topologies.families.rails.domains import (
    NIC_DELAY_NS,
    NIC_RATE_GBPS,
    SPINE_DELAY_NS,
    HbDelay,
    NicDelay,
    SpineDelay,
)
from topologies.model import Fabric, NodeKind
from topologies.model.address import CNA_BITS
from topologies.model.places import NIC
from topologies.model.port_numbers import check_ports
from topologies.model.wiring import Wiring

__all__ = ["HPN_HB_RATE_GBPS", "dcn_plus", "hpn"]

HPN = "HPN (SIGCOMM 2024, doi 10.1145/3651890.3672265)"

# Rate of a GPU's NVLink in each direction: 400 GB/s (HPN, hosts).
HPN_HB_RATE_GBPS = 3200

Pods = Annotated[int, Spec("Pods, joined by cores", at_least=1)]
Segments = Annotated[int, Spec("segments of a Pod", at_least=1)]
Hosts = Annotated[int, Spec("hosts of a segment", at_least=1)]
Rails = Annotated[int, Spec("GPUs of a host, each with a NIC", at_least=2)]
Cores = Annotated[int, Spec("cores of a plane", at_least=0)]
Radix = Annotated[int, Spec("ports of 200 Gbit/s of a switch; cables between switches take two", at_least=1)]
HbRate = Annotated[float, Spec("rate of a GPU into its host, each way", above=0)]
NicRate = Annotated[float, Spec("rate of one of the two ports of a NIC, each way", above=0)]

# Value of the address field `class` of switches; GPUs have 0.
_SWITCH = 1

# Dimensions: ranks of a host, hosts of a segment, segments, and Pods if there are several.
_RAIL = 0

_REMEDIES = {
    NodeKind.RAIL: "use fewer hosts or aggs, or more radix",
    NodeKind.SPINE: "use fewer segments or cores, or more radix",
    NodeKind.CORE: "use fewer pods or aggs, or more radix",
}


@family(
    "HPN: segments of hosts, every NIC on two ToRs, and a plane of switches for each port of a NIC",
    source=Source(HPN, "structure"),
)
def hpn(
    segments: Segments = 2,
    hosts: Hosts = 4,
    rails: Rails = 8,
    *,
    backup: Annotated[int, Spec("idle hosts of a segment", at_least=0)] = 0,
    tors: Tors = "dual",
    planes: Annotated[
        int,
        Spec("planes of switches; 0: as many as a NIC has ToRs, 1: a typical Clos", at_least=0, at_most=2),
    ] = 0,
    aggs: Annotated[int, Spec("aggregation switches of a plane, and cables up from a ToR", at_least=1)] = 4,
    pods: Pods = 1,
    cores: Cores = 0,
    radix: Radix = SWITCH_LANES,
    hb_gbps: HbRate = HPN_HB_RATE_GBPS,
    nic_gbps: NicRate = NIC_RATE_GBPS,
    hb_delay_ns: HbDelay = LINK_DELAY_NS,
    nic_delay_ns: NicDelay = NIC_DELAY_NS,
    spine_delay_ns: SpineDelay = SPINE_DELAY_NS,
) -> Fabric:
    """Build segments of hosts, with a set of ToRs for each rail of a segment.

    The paper has 15 segments of 128 + 8 hosts, 8 rails, 60 aggregation switches and 8 cores of a plane.

    `nic_gbps` is the rate of one of the two ports of a NIC. A cable between switches has twice this rate; so
    has the only port of a NIC if `tors` is single. `planes` 0: one plane for each ToR of a set; 1: a typical
    Clos.
    """
    shape = planned(
        segments,
        hosts,
        rails,
        backup=backup,
        tors=tors,
        planes=planes,
        aggs=aggs,
        pods=pods,
        cores=cores,
        radix=radix,
    )
    rates = _Rates(radix, bps(hb_gbps), bps(nic_gbps), ns(hb_delay_ns), ns(nic_delay_ns), ns(spine_delay_ns))
    return _built("hpn", shape, rates)


@family("DCN+: a Clos of three tiers with two ToRs a NIC, the baseline of HPN", source=Source(HPN, "DCN+"))
def dcn_plus(
    pods: Pods = 2,
    segments: Segments = 2,
    hosts: Hosts = 4,
    rails: Rails = 8,
    *,
    aggs: Annotated[int, Spec("aggregation switches of a Pod", at_least=1)] = 4,
    trunk: Annotated[int, Spec("cables from a ToR to each aggregation switch", at_least=1)] = 1,
    cores: Cores = 4,
    radix: Radix = SWITCH_LANES,
    hb_gbps: HbRate = HPN_HB_RATE_GBPS,
    nic_gbps: NicRate = NIC_RATE_GBPS,
    hb_delay_ns: HbDelay = LINK_DELAY_NS,
    nic_delay_ns: NicDelay = NIC_DELAY_NS,
    spine_delay_ns: SpineDelay = SPINE_DELAY_NS,
) -> Fabric:
    """Build the baseline of HPN: sets of two ToRs that serve all rails of a host, and Pods joined by cores.

    The paper has 32 Pods of 4 segments of 16 hosts, and 8 aggregation switches in each Pod. It does not give
    the number of cables up; trunks of 8 and 128 cores avoid oversubscription (derived here).
    """
    shape = planned(
        segments,
        hosts,
        rails,
        planes=1,
        aggs=aggs,
        pods=pods,
        cores=cores,
        mixed=True,
        trunk=trunk,
        radix=radix,
    )
    rates = _Rates(radix, bps(hb_gbps), bps(nic_gbps), ns(hb_delay_ns), ns(nic_delay_ns), ns(spine_delay_ns))
    return _built("dcn-plus", shape, rates)


@final
@dataclass(frozen=True, slots=True)
class _Rates:
    radix: int
    hb_rate_bps: int
    nic_rate_bps: int
    hb_delay_ps: int
    nic_delay_ps: int
    spine_delay_ps: int


def _built(name: str, shape: Shape, rates: _Rates) -> Fabric:
    plan = shape.plan
    dims = (shape.rails, shape.hosts + shape.backup, shape.segments)
    # A GPU and its host are joined by a link of whole lanes: enough for all links of the GPU at once.
    host_lanes = ceil(rates.hb_rate_bps / rates.nic_rate_bps) + CABLE_LANES
    builder = Wiring(
        plan,
        dims if shape.pods == 1 else (*dims, shape.pods),
        lane_rate_bps=rates.nic_rate_bps,
        host_lanes=host_lanes,
    )
    _endpoints(builder, shape)
    _switches(builder, shape, rates.radix)
    _insides(builder, shape, rates)
    _nics(builder, shape, rates)
    _cables(builder, shape, rates)
    groups = tuple((dimension,) for dimension in range(3 if shape.pods == 1 else 4))
    fabric = builder.fabric(name, host_delay_ps=rates.hb_delay_ps, groups=groups, remedies=_REMEDIES)
    check_ports(fabric, "use fewer hosts or segments")
    return fabric


def _endpoints(builder: Wiring, shape: Shape) -> None:
    lanes = shape.rails - 1 + CABLE_LANES
    plan = shape.plan
    for pod, segment, host in shape.host_numbers():
        pod_field = {"pod": pod} if shape.pods > 1 else {}
        kind = NodeKind.GPU if host < shape.hosts else NodeKind.SPARE
        for rank in range(shape.rails):
            address = plan.pack(**pod_field, segment=segment, host=host, rank=rank)
            builder.node(shape.gpu(pod, segment, host, rank), kind, "rail_gpu", address, lanes=lanes)


def _switches(builder: Wiring, shape: Shape, radix: int) -> None:
    """Add the switches; an address is the class and a number, which counts ToRs first."""
    tors = [
        (shape.tor(pod, segment, rank, number), NodeKind.RAIL, 2)
        for pod in range(shape.pods)
        for segment in range(shape.segments)
        for rank in range(shape.sets)
        for number in range(shape.tors)
    ]
    aggs = [
        (shape.agg(pod, plane, number), NodeKind.SPINE, 3)
        for pod in range(shape.pods)
        for plane in range(shape.planes)
        for number in range(shape.aggs)
    ]
    cores = [
        (shape.core(plane, number), NodeKind.CORE, 4)
        for plane in range(shape.planes)
        for number in range(shape.cores)
    ]
    first = _SWITCH << (CNA_BITS - 1)
    for at, (name, kind, tier) in enumerate((*tors, *aggs, *cores)):
        builder.node(name, kind, "rail_switch", first | at, tier=tier, lanes=radix)


def _insides(builder: Wiring, shape: Shape, rates: _Rates) -> None:
    """Link the GPUs of each host; the links of a GPU share its rate equally."""
    rate = max(1, rates.hb_rate_bps // (shape.rails - 1))
    for numbers in shape.host_numbers():
        for low, high in combinations(range(shape.rails), 2):
            builder.link(
                shape.gpu(*numbers, low),
                shape.gpu(*numbers, high),
                lanes=1,
                delay_ps=rates.hb_delay_ps,
                labels=(f"hb{high}", f"hb{low}"),
                dimension=_RAIL,
                rate_bps=rate,
            )


def _nics(builder: Wiring, shape: Shape, rates: _Rates) -> None:
    """Link the NICs: port 0 of all NICs, then port 1, so that a ToR's ports are in the order of its hosts."""
    for number in range(shape.tors):
        for pod, segment, host in shape.host_numbers():
            for rank in range(shape.rails):
                gpu = shape.gpu(pod, segment, host, rank)
                builder.link(
                    gpu,
                    shape.tor(pod, segment, rank, number),
                    lanes=shape.nic_lanes,
                    delay_ps=rates.nic_delay_ps,
                    labels=(f"{NIC}{number}", gpu),
                )


def _cables(builder: Wiring, shape: Shape, rates: _Rates) -> None:
    def cable(low: str, high: str, count: int = 1) -> None:
        lanes = count * CABLE_LANES
        builder.link(low, high, lanes=lanes, delay_ps=rates.spine_delay_ps, labels=(high, low))

    for pod in range(shape.pods):
        for segment in range(shape.segments):
            for rank in range(shape.sets):
                for number in range(shape.tors):
                    for agg in range(shape.aggs):
                        plane = number if shape.planes > 1 else 0
                        cable(shape.tor(pod, segment, rank, number), shape.agg(pod, plane, agg), shape.trunk)
        for plane in range(shape.planes):
            for agg in range(shape.aggs):
                for core in range(agg % shape.core_groups, shape.cores, shape.core_groups):
                    cable(shape.agg(pod, plane, agg), shape.core(plane, core))
