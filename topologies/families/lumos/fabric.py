# SPDX-License-Identifier: Apache-2.0
"""LumosCore: Pods of leaf and spine switches whose core is groups of optical circuit switches.

Servers are high-bandwidth domains. The NICs of a Pod fill its leaves in order. Every leaf has a trunk of tau
cables to each spine, and by default a spine has as many ports to optical switches as to leaves. Spines of
equal number are a group; circuits within a group join Pods (`topologies.families.lumos.core`). For routes, a
group is a mesh of its spines in which only the circuits exist; circuits may be parallel.

Sizes follow the paper's model unless marked otherwise: N Pods, H spines of a Pod, tau cables between a leaf
and a spine, K ports of a spine to optical switches (authors' appendix).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import combinations
from math import ceil
from typing import Annotated, final

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, bps, family, ns, us
from topologies.families.full_mesh import LINK_DELAY_NS
from topologies.families.lumos.core import WiringOfPorts, circulant, switch_name, with_maps
from topologies.families.rails.domains import (
    HB_RATE_GBPS,
    NIC_DELAY_NS,
    NIC_RATE_GBPS,
    RADIX,
    RECONFIGURATION_US,
    SPINE_DELAY_NS,
    HbDelay,
    HbRate,
    Inside,
    NicDelay,
    NicRate,
    Radix,
    Reconfiguration,
    SpineDelay,
)
from topologies.model import AddressPlan, End, Fabric, NodeKind, OpticalSwitch
from topologies.model.address import CNA_BITS, padded_plan
from topologies.model.places import NIC
from topologies.model.port_numbers import MAX_PORT, check_ports
from topologies.model.wiring import Wiring

__all__ = ["CORE_DELAY_NS", "lumos"]

# Two fibres, each of the length of a cable between switches: this project's choice.
CORE_DELAY_NS = 2 * SPINE_DELAY_NS

CLASS_BITS = 3

# Dimensions: ranks of a domain, domains of a Pod, Pods.
_RANK, _POD = 0, 2


class _Class(IntEnum):
    """Values of the address field `class`."""

    GPU = 0
    HBS = 1
    LEAF = 2
    SPINE = 3


_SWITCHES = {
    _Class.HBS: (NodeKind.HBS, 1),
    _Class.LEAF: (NodeKind.RAIL, 2),
    _Class.SPINE: (NodeKind.SPINE, 3),
}

_REMEDIES = {kind: "use a larger radix" for kind, _ in _SWITCHES.values()}


@family(
    "LumosCore: Pods of leaves and spines, joined by groups of optical switches",
    source=Source("LumosCore (arXiv 2411.01503)", "cross wiring"),
)
def lumos(
    pods: Annotated[int, Spec("Pods", at_least=2)] = 4,
    leaves: Annotated[int, Spec("leaves of a Pod", at_least=1)] = 2,
    spines: Annotated[int, Spec("spines of a Pod, and groups of optical switches", at_least=1)] = 2,
    *,
    accelerators: Annotated[int, Spec("GPUs below a leaf", at_least=2)] = 16,
    hb_size: Annotated[int, Spec("GPUs of a server, an HB domain", at_least=2, at_most=MAX_PORT)] = 8,
    tau: Annotated[int, Spec("cables from a leaf to a spine; 0: as many up as down", at_least=0)] = 0,
    ports: Annotated[
        int, Spec("ports of a spine to optical switches; 0: as many up as down", at_least=0)
    ] = 0,
    wiring: Annotated[WiringOfPorts, Spec("how the ports of spines lead to optical switches")] = "cross",
    inside: Inside = "mesh",
    radix: Radix = RADIX,
    hb_gbps: HbRate = HB_RATE_GBPS,
    nic_gbps: NicRate = NIC_RATE_GBPS,
    hb_delay_ns: HbDelay = LINK_DELAY_NS,
    nic_delay_ns: NicDelay = NIC_DELAY_NS,
    spine_delay_ns: SpineDelay = SPINE_DELAY_NS,
    core_delay_ns: Annotated[
        float, Spec("propagation delay of a circuit between spines", at_least=0)
    ] = CORE_DELAY_NS,
    reconfiguration_us: Reconfiguration = RECONFIGURATION_US,
) -> Fabric:
    """Build Pods of `leaves` with `accelerators` each, `spines`, and as many groups of optical switches.

    The default has 128 accelerators, as the paper's testbed. `tau` cables join a leaf and a spine, and a
    spine has `ports` ports to optical switches; 0 is the number without oversubscription. The initial
    circuits join all pairs of Pods by nearly equal numbers (`circulant`).
    """
    tau, ports = _sizes(leaves, spines, accelerators, tau, ports)
    shape = _Shape(pods, leaves, spines, accelerators, hb_size, tau, ports)
    shape.check()
    hb_rate_bps, nic_rate_bps, hb_delay_ps = bps(hb_gbps), bps(nic_gbps), ns(hb_delay_ns)
    # A GPU and its host are joined by a link of whole lanes: enough for all links of the GPU at once.
    host_lanes = ceil((hb_rate_bps + nic_rate_bps) / nic_rate_bps)
    dims = (hb_size, shape.domains, pods)
    builder = Wiring(shape.plan, dims, lane_rate_bps=nic_rate_bps, host_lanes=host_lanes)
    for pod, domain, rank in shape.gpus():
        address = shape.plan.pack(pod=pod, domain=domain, rank=rank)
        lanes = hb_size if inside == "mesh" else 2
        builder.node(shape.gpu(pod, domain, rank), NodeKind.GPU, "rail_gpu", address, lanes=lanes)
    for kind, count, lanes in (
        (_Class.HBS, shape.domains if inside == "switch" else 0, hb_size),
        (_Class.LEAF, leaves, radix),
        (_Class.SPINE, spines, radix),
    ):
        for pod in range(pods):
            for number in range(count):
                what, tier = _SWITCHES[kind]
                address = shape.number(kind, pod, number)
                name = shape.switch(kind, pod, number)
                builder.node(name, what, "rail_switch", address, tier=tier, lanes=lanes)
    if inside == "mesh":
        _mesh(builder, shape, max(1, hb_rate_bps // (hb_size - 1)), hb_delay_ps)
    else:
        for pod, domain, rank in shape.gpus():
            gpu, switch = shape.gpu(pod, domain, rank), shape.switch(_Class.HBS, pod, domain)
            labels = ("hb", f"gpu{rank}")
            builder.link(gpu, switch, lanes=1, delay_ps=hb_delay_ps, labels=labels, rate_bps=hb_rate_bps)
    for number, (pod, domain, rank) in enumerate(shape.gpus()):
        gpu = shape.gpu(pod, domain, rank)
        switch = shape.switch(_Class.LEAF, pod, number // accelerators % leaves)
        builder.link(gpu, switch, lanes=1, delay_ps=ns(nic_delay_ns), labels=(NIC, gpu))
    for pod in range(pods):
        for leaf in range(leaves):
            for spine in range(spines):
                low, high = shape.switch(_Class.LEAF, pod, leaf), shape.switch(_Class.SPINE, pod, spine)
                builder.link(low, high, lanes=tau, delay_ps=ns(spine_delay_ns), labels=(high, low))
    optical = _optical(builder, shape, wiring)
    fabric = builder.fabric(
        "lumos", host_delay_ps=hb_delay_ps, groups=((_RANK,), (1,), (_POD,)), remedies=_REMEDIES
    )
    check_ports(fabric, "use a smaller radix")
    switches = tuple(
        OpticalSwitch(name, ends, 1, nic_rate_bps, ns(core_delay_ns), us(reconfiguration_us))
        for name, ends in optical.items()
    )
    return with_maps(replace(fabric, optical=switches), circulant(wiring, pods, spines, ports))


@final
@dataclass(frozen=True, slots=True)
class _Shape:
    """Numbers, names and addresses of the nodes of a fabric."""

    pods: int
    leaves: int
    spines: int
    accelerators: int
    hb_size: int
    tau: int
    ports: int

    def check(self) -> None:
        """Raise TopologyError when the fabric cannot be built."""
        if self.leaves * self.accelerators % self.hb_size:
            raise TopologyError(
                f"the {self.leaves * self.accelerators} accelerators of a Pod do not fill "
                f"servers of {self.hb_size}",
                remedy="use a divisor of the accelerators of a Pod for hb_size",
            )
        if self.ports < 2 or self.ports % 2:
            raise TopologyError(
                f"ports is {self.ports}, which is not even",
                remedy="give an even number: optical switches come in pairs",
            )

    @property
    def domains(self) -> int:
        """Servers of a Pod."""
        return self.leaves * self.accelerators // self.hb_size

    @property
    def plan(self) -> AddressPlan:
        """Fields from the high bits down: class, padding, Pod, domain, rank; TopologyError above 16 bits."""
        rank = (self.hb_size - 1).bit_length()
        most = max(self.domains << rank, self.leaves, self.spines)
        domain = max((most - 1).bit_length() - rank, 0)
        pod = (self.pods - 1).bit_length()
        pad = CNA_BITS - CLASS_BITS - pod - domain - rank
        if pad < 0:
            raise TopologyError(
                f"{self.pods} Pods of {self.domains} servers of {self.hb_size} GPUs need addresses of "
                f"{CNA_BITS - pad} bits, but an address has {CNA_BITS}",
                remedy="use fewer or smaller Pods",
            )
        return padded_plan(CLASS_BITS, {"pod": pod, "domain": domain, "rank": rank})

    def gpus(self) -> Iterator[tuple[int, int, int]]:
        """Yield (Pod, domain, rank) of all accelerators, in the order of their numbers."""
        for pod in range(self.pods):
            for domain in range(self.domains):
                for rank in range(self.hb_size):
                    yield pod, domain, rank

    def gpu(self, pod: int, domain: int, rank: int) -> str:
        return f"gpu{(pod * self.domains + domain) * self.hb_size + rank}"

    def switch(self, kind: _Class, pod: int, number: int) -> str:
        if kind is _Class.HBS:
            return f"hbs{pod * self.domains + number}"
        return f"{'leaf' if kind is _Class.LEAF else 'spine'}{pod}.{number}"

    def number(self, kind: _Class, pod: int, number: int) -> int:
        """Return the address of a switch; its number in the Pod fills the fields domain and rank.

        The number of an HBS is its domain, and fills the field domain alone.
        """
        rank = (self.hb_size - 1).bit_length()
        domain_and_rank = number << rank if kind is _Class.HBS else number
        return self.plan.pack(
            **{"class": kind}, pod=pod, domain=domain_and_rank >> rank, rank=domain_and_rank & (1 << rank) - 1
        )


def _sizes(leaves: int, spines: int, accelerators: int, tau: int, ports: int) -> tuple[int, int]:
    if not tau:
        if accelerators < spines or accelerators % spines:
            raise TopologyError(
                f"{accelerators} accelerators of a leaf do not divide evenly over {spines} spines",
                remedy="give tau, the number of cables from a leaf to a spine",
            )
        tau = accelerators // spines
    # Rounded up to an even number: ports come in pairs.
    return tau, ports or leaves * tau + leaves * tau % 2


def _mesh(builder: Wiring, shape: _Shape, rate_bps: int, delay_ps: int) -> None:
    for pod in range(shape.pods):
        for domain in range(shape.domains):
            for low, high in combinations(range(shape.hb_size), 2):
                builder.link(
                    shape.gpu(pod, domain, low),
                    shape.gpu(pod, domain, high),
                    lanes=1,
                    delay_ps=delay_ps,
                    labels=(f"hb{high}", f"hb{low}"),
                    dimension=_RANK,
                    rate_bps=rate_bps,
                )


def _optical(builder: Wiring, shape: _Shape, wiring: str) -> dict[str, tuple[End, ...]]:
    """Add the ports of spines to optical switches, and return the ends of each optical switch by name."""
    ends_of: dict[str, tuple[End, ...]] = {}
    for group in range(shape.spines):
        spines = [shape.switch(_Class.SPINE, pod, group) for pod in range(shape.pods)]
        of = [
            [builder.fibre(name, f"core{number}", lanes=1, dimension=_POD) for number in range(shape.ports)]
            for name in spines
        ]
        together = 1 if wiring == "uniform" else 2
        for number in range(shape.ports // together):
            ends = [fibres[together * number + odd] for odd in range(together) for fibres in of]
            ends_of[switch_name(wiring, group, number)] = tuple(ends)
    return ends_of
