# SPDX-License-Identifier: Apache-2.0
"""Parts of fabrics with rails: addresses, domains of GPUs, and Clos networks of their NICs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import combinations
from math import ceil
from typing import Annotated, Literal, final

from topologies.errors import TopologyError
from topologies.families.clos import Clos
from topologies.families.declaration import Spec
from topologies.model import AddressPlan, End, Fabric, NodeKind, OpticalSwitch
from topologies.model.address import CNA_BITS, padded_plan
from topologies.model.places import NIC
from topologies.model.port_numbers import MAX_PORT, check_ports
from topologies.model.wiring import Wiring
from topologies.transform.circuits import with_maps

__all__ = [
    "HB_RATE_GBPS",
    "NIC_DELAY_NS",
    "NIC_RATE_GBPS",
    "RADIX",
    "RECONFIGURATION_US",
    "SPINE_DELAY_NS",
    "Domains",
    "HbDelay",
    "HbRate",
    "HbSize",
    "Inside",
    "NicDelay",
    "NicRate",
    "AddressClass",
    "Radix",
    "Reconfiguration",
    "SpineDelay",
]

# Rates of an A100 in each direction; those of an H100 are 3,600 and 400 Gbit/s (Rail-only).
HB_RATE_GBPS = 2400
NIC_RATE_GBPS = 200

# Ports of a switch: the smallest of the three that the paper prices (Rail-only, Table II).
RADIX = 64

# Ten metres of cable to a leaf, a hundred metres between switches: this project's choice.
NIC_DELAY_NS = 50
SPINE_DELAY_NS = 500

# Switching time of micromirrors, to the order of magnitude: ten milliseconds.
RECONFIGURATION_US = 10_000

CLASS_BITS = 3

Inside = Annotated[Literal["mesh", "switch"], Spec("how the GPUs of an HB domain are joined")]
HbSize = Annotated[int, Spec("GPUs of an HB domain, each of a different rail", at_least=2, at_most=MAX_PORT)]
Radix = Annotated[int, Spec("ports of a switch", at_least=2)]
HbRate = Annotated[float, Spec("rate of a GPU into its HB domain, each way", above=0)]
NicRate = Annotated[float, Spec("rate of a NIC and of a cable, each way", above=0)]
HbDelay = Annotated[float, Spec("propagation delay of a link in an HB domain", at_least=0)]
NicDelay = Annotated[float, Spec("propagation delay of a link from a NIC to a leaf", at_least=0)]
SpineDelay = Annotated[float, Spec("propagation delay of a link between switches", at_least=0)]
Reconfiguration = Annotated[float, Spec("time until a new circuit carries frames", at_least=0)]


class AddressClass(IntEnum):
    """Values of the field `class` of an address."""

    GPU = 0
    HBS = 1
    LEAF = 2
    SPINE = 3
    CORE = 4
    SPARE_LEAF = 5


_SWITCHES = {
    AddressClass.HBS: (NodeKind.HBS, 1),
    AddressClass.LEAF: (NodeKind.RAIL, 2),
    AddressClass.SPINE: (NodeKind.SPINE, 3),
    AddressClass.CORE: (NodeKind.CORE, 4),
    AddressClass.SPARE_LEAF: (NodeKind.RAIL, 2),
}

_REMEDIES = {kind: "use a larger radix" for kind, _ in _SWITCHES.values()}


@final
class Domains:
    """Builder of a fabric: GPUs in their domains first, then networks of their NICs.

    A lane is a port here: a link of one cable has one lane, a trunk one for each cable, and a switch `radix`
    lanes. The address of a GPU is class, domain and rank; of a switch it is class and a number.

    `spares`: idle GPUs of each domain; their ranks follow the ranks of the GPUs in use.
    `spare_domains`: idle domains; their numbers start at `domains`.
    `optical`: each domain has an optical switch, to which its NICs and the leaves lead. The switch joins each
        GPU in use to its rail, and keeps idle GPUs dark.
    """

    def __init__(
        self,
        domains: int,
        hb_size: int,
        *,
        inside: Inside,
        radix: int,
        hb_rate_bps: int,
        nic_rate_bps: int,
        hb_delay_ps: int,
        nic_delay_ps: int,
        spine_delay_ps: int,
        spares: int = 0,
        spare_domains: int = 0,
        optical: bool = False,
        reconfiguration_ps: int = 0,
    ) -> None:
        if hb_size + spares > MAX_PORT:
            raise TopologyError(
                f"hb_size {hb_size} and spares {spares} need more ports than the {MAX_PORT} that "
                f"a source route can address",
                remedy=f"use at most {MAX_PORT} together",
            )
        self._used = domains
        self._domains = domains + spare_domains
        self._size = hb_size
        self._spares = spares
        self._optical = optical
        self._reconfiguration_ps = reconfiguration_ps
        self._radix = radix
        self._nic_rate_bps = nic_rate_bps
        self._hb_rate_bps = hb_rate_bps
        self._hb_delay_ps = hb_delay_ps
        self._nic_delay_ps = nic_delay_ps
        self._spine_delay_ps = spine_delay_ps
        self._plan = _plan(self._domains, self.ranks)
        # A GPU and its host are joined by a link of whole lanes: enough for all links of the GPU at once.
        host_lanes = ceil((hb_rate_bps + nic_rate_bps) / nic_rate_bps)
        self._wiring = Wiring(
            self._plan, (self.ranks, self._domains), lane_rate_bps=nic_rate_bps, host_lanes=host_lanes
        )
        # Ends at the ports of each domain's optical switch: first NICs, then leaves.
        self._nics: list[list[End]] = [[] for _ in range(self._domains)]
        self._leaves: list[list[End]] = [[] for _ in range(self._domains)]
        # Ports of a GPU: its NIC, and one to every other GPU of the domain or one to the domain's switch.
        self._gpus(self.ranks if inside == "mesh" else 2)
        if inside == "mesh":
            self._mesh()
        else:
            self._switches()

    @property
    def ranks(self) -> int:
        """GPUs of a domain, including idle GPUs."""
        return self._size + self._spares

    def gpu(self, domain: int, rank: int) -> str:
        """Return the name of a GPU; the only idle GPU of a domain is named by the domain alone."""
        if rank < self._size:
            return f"gpu{domain * self._size + rank}"
        return f"spare{domain}" if self._spares == 1 else f"spare{domain}.{rank - self._size}"

    def rail(self, rank: int) -> list[str]:
        """Return the GPUs of a rank; GPUs of idle domains are last."""
        return [self.gpu(domain, rank) for domain in range(self._domains)]

    def at(self, address_class: AddressClass, *, domain: int, rank: int) -> int:
        """Return the address of a node from its class, domain and rank."""
        self._check_class(address_class)
        return self._plan.pack(**{"class": address_class, "domain": domain, "rank": rank})

    def number(self, address_class: AddressClass, number: int) -> int:
        """Return the address of a switch from its class and its number in the tier."""
        self._check_class(address_class)
        bits = CNA_BITS - self._plan.fields[0].bits
        room = 1 << bits
        if number >= room:
            raise TopologyError(
                f"a tier has {number + 1} switches; addresses can name {room}",
                remedy="use a larger radix or a smaller fabric",
            )
        return address_class << bits | number

    def _check_class(self, address_class: AddressClass) -> None:
        if address_class > self._plan.mask("class"):
            kind = _SWITCHES[address_class][0]
            raise TopologyError(
                f"{self._domains} domains of {self.ranks}: their addresses leave none for a {kind} switch",
                remedy="use fewer or smaller domains, or a larger radix",
            )

    def switch(self, address_class: AddressClass, name: str, address: int) -> None:
        """Add a switch with `radix` lanes; an HBS, the switch inside a domain, has a lane for each GPU."""
        kind, tier = _SWITCHES[address_class]
        lanes = self.ranks if address_class is AddressClass.HBS else self._radix
        self._wiring.node(name, kind, "rail_switch", address, tier=tier, lanes=lanes)

    def idle(self, leaves: int) -> None:
        """Add fibres from idle GPUs and from `leaves` idle leaves to the optical switches of all domains."""
        for domain, nics in enumerate(self._nics):
            idle = range(self._size, self.ranks)
            nics += [self._wiring.fibre(self.gpu(domain, rank), NIC, lanes=1) for rank in idle]
        for number in range(leaves):
            name = f"sparerail{number}"
            self.switch(AddressClass.SPARE_LEAF, name, self.number(AddressClass.SPARE_LEAF, number))
            for domain, fibres in enumerate(self._leaves):
                fibres.append(self._wiring.fibre(name, f"ocs{domain}", lanes=1))

    def join(
        self,
        shape: Clos,
        leaves: Sequence[str],
        gpus: Sequence[Sequence[str]],
        spine: Callable[[int], tuple[str, int]],
        core: Callable[[int], tuple[str, int]],
    ) -> None:
        """Link NICs to leaves, then add and link spines and cores.

        Args:
            shape: numbers of switches and cables.
            leaves: names of the leaves, which exist.
            gpus: GPUs below each leaf.
            spine: function from the number of a spine to its name and address.
            core: function from the number of a core to its name and address.
        """
        for leaf, below in zip(leaves, gpus, strict=True):
            for gpu in below:
                if self._optical:
                    domain = self._domain_of[gpu]
                    self._nics[domain].append(self._wiring.fibre(gpu, NIC, lanes=1))
                    self._leaves[domain].append(self._wiring.fibre(leaf, f"ocs{domain}", lanes=1))
                else:
                    self._wiring.link(gpu, leaf, lanes=1, delay_ps=self._nic_delay_ps, labels=(NIC, gpu))
        spines = [spine(number) for number in range(shape.all_spines)]
        for name, address in spines:
            self.switch(AddressClass.SPINE, name, address)
        cores = [core(number) for number in range(shape.all_cores)]
        for name, address in cores:
            self.switch(AddressClass.CORE, name, address)
        for number, leaf in enumerate(leaves):
            first = number // shape.pod * shape.spines
            for name, _ in spines[first : first + shape.spines]:
                self._trunk(leaf, name, shape.trunk)
        for number, (name, _) in enumerate(spines):
            first = number % max(shape.spines, 1) * shape.cores
            for above, _ in cores[first : first + shape.cores]:
                self._trunk(name, above, shape.core_trunk)

    def fabric(self, name: str) -> Fabric:
        """Return the fabric; TopologyError when a node has more ports than a source route can address."""
        fabric = self._wiring.fabric(
            name, host_delay_ps=self._hb_delay_ps, groups=((0,), (1,)), remedies=_REMEDIES
        )
        check_ports(fabric, "use a smaller radix")
        return self._crossed(fabric) if self._optical else fabric

    def _crossed(self, fabric: Fabric) -> Fabric:
        """Return the fabric with the NICs of GPUs in use joined to their leaves by optical switches."""
        optical = [
            OpticalSwitch(
                name=f"ocs{domain}",
                ends=(*nics, *leaves),
                lanes=1,
                rate_bps=self._nic_rate_bps,
                delay_ps=self._nic_delay_ps,
                reconfiguration_ps=self._reconfiguration_ps,
            )
            for domain, (nics, leaves) in enumerate(zip(self._nics, self._leaves, strict=True))
        ]
        joined = {rank: self.ranks + rank for rank in range(self._size)}
        maps = {switch.name: joined for switch in optical}
        return with_maps(replace(fabric, optical=tuple(optical)), maps)

    def _gpus(self, ports: int) -> None:
        """Add the GPUs; GPUs of the spare ranks follow all others."""
        gpus = [(domain, rank) for domain in range(self._domains) for rank in range(self.ranks)]
        for domain, rank in sorted(gpus, key=lambda gpu: gpu[1] >= self._size):
            address = self.at(AddressClass.GPU, domain=domain, rank=rank)
            idle = rank >= self._size or domain >= self._used
            kind = NodeKind.SPARE if idle else NodeKind.GPU
            self._wiring.node(self.gpu(domain, rank), kind, "rail_gpu", address, lanes=ports)
        self._domain_of = {self.gpu(domain, rank): domain for domain, rank in gpus}

    def _mesh(self) -> None:
        rate = max(1, self._hb_rate_bps // (self.ranks - 1))
        for domain in range(self._domains):
            for low, high in combinations(range(self.ranks), 2):
                self._wiring.link(
                    self.gpu(domain, low),
                    self.gpu(domain, high),
                    lanes=1,
                    delay_ps=self._hb_delay_ps,
                    labels=(f"hb{high}", f"hb{low}"),
                    dimension=0,
                    rate_bps=rate,
                )

    def _switches(self) -> None:
        for domain in range(self._domains):
            self.switch(AddressClass.HBS, f"hbs{domain}", self.at(AddressClass.HBS, domain=domain, rank=0))
        for domain in range(self._domains):
            for rank in range(self.ranks):
                self._wiring.link(
                    self.gpu(domain, rank),
                    f"hbs{domain}",
                    lanes=1,
                    delay_ps=self._hb_delay_ps,
                    labels=("hb", f"gpu{rank}"),
                    rate_bps=self._hb_rate_bps,
                )

    def _trunk(self, low: str, high: str, cables: int) -> None:
        self._wiring.link(low, high, lanes=cables, delay_ps=self._spine_delay_ps, labels=(high, low))


def _plan(domains: int, size: int) -> AddressPlan:
    """Return the address plan: class, padding, domain, rank; TopologyError when 16 bits are too few.

    If a class of 3 bits would make an address of 17 bits, the class has 2 bits: then GPUs, HBS, leaves and
    spines have addresses; cores and spare leaves have none.
    """
    domain, rank = (domains - 1).bit_length(), (size - 1).bit_length()
    first = min(CLASS_BITS, max(CNA_BITS - domain - rank, CLASS_BITS - 1))
    pad = CNA_BITS - first - domain - rank
    if pad < 0:
        raise TopologyError(
            f"{domains} domains of {size} GPUs need addresses of {CNA_BITS - pad} bits, but an address has "
            f"{CNA_BITS}",
            remedy="use fewer or smaller domains",
        )
    return padded_plan(first, {"domain": domain, "rank": rank})
