# SPDX-License-Identifier: Apache-2.0
"""Domains of GPUs joined by their NICs: rail-only, rail-optimised, and the baseline any-to-any.

A fast fabric joins the GPUs of a high-bandwidth (HB) domain; the NIC domain is the network between domains. A
rail is the GPUs of equal rank, one of each domain (Rail-only):

    rail-only       a folded Clos for each rail; only the domains join rails
    rail-optimised  leaves of one rail each, and spines shared by all leaves
    any-to-any      one folded Clos whose leaves take GPUs in the order of their numbers, regardless of rails

The number of switches of a tier is derived (`topologies.families.clos`).
"""

from collections.abc import Sequence
from math import ceil
from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.clos import clos, clos_of
from topologies.families.declaration import Source, Spec, bps, family, ns, us
from topologies.families.full_mesh import LINK_DELAY_NS
from topologies.families.rails.domains import (
    HB_RATE_GBPS,
    NIC_DELAY_NS,
    NIC_RATE_GBPS,
    RADIX,
    RECONFIGURATION_US,
    SPINE_DELAY_NS,
    AddressClass,
    Domains,
    HbDelay,
    HbRate,
    HbSize,
    Inside,
    NicDelay,
    NicRate,
    Radix,
    Reconfiguration,
    SpineDelay,
)
from topologies.model import Fabric

__all__ = ["any_to_any", "rail_only", "rail_optimised"]

RAIL_ONLY = "Rail-only (arXiv 2307.12169)"

DomainCount = Annotated[int, Spec("high-bandwidth (HB) domains", at_least=2)]
Uplinks = Annotated[int, Spec("cables up from a leaf; 0: as many as it has below", at_least=0)]
Spines = Annotated[int, Spec("spines above a leaf; 0: as few as carry its uplinks", at_least=0)]


@family(
    "GPUs in HB domains, a network for each rail and none between rails",
    source=Source(RAIL_ONLY, "rail-only network"),
)
def rail_only(
    domains: DomainCount = 4,
    hb_size: HbSize = 8,
    *,
    inside: Inside = "mesh",
    radix: Radix = RADIX,
    uplinks: Uplinks = 0,
    spines: Spines = 0,
    hb_gbps: HbRate = HB_RATE_GBPS,
    nic_gbps: NicRate = NIC_RATE_GBPS,
    hb_delay_ns: HbDelay = LINK_DELAY_NS,
    nic_delay_ns: NicDelay = NIC_DELAY_NS,
    spine_delay_ns: SpineDelay = SPINE_DELAY_NS,
    spares: Annotated[int, Spec("idle GPUs of an HB domain", at_least=0)] = 0,
    spare_domains: Annotated[int, Spec("idle HB domains", at_least=0)] = 0,
    spare_rails: Annotated[int, Spec("idle rail switches, behind the optical switches", at_least=0)] = 0,
    optical: Annotated[bool, Spec("an optical switch between the NICs of each domain and the rails")] = False,
    reconfiguration_us: Reconfiguration = RECONFIGURATION_US,
) -> Fabric:
    """Build a network of the fewest tiers for each rail: one switch up to `radix` domains (Rail-only).

    Each rail has its own switches; in the paper two rails may share a switch with enough ports for both.

    `spares`: idle GPUs of each domain; without `optical` they are on additional rails.
    `spare_domains`: idle domains, wired like the domains in use.
    `optical`: each domain has an optical switch between NICs and rails, which keeps idle GPUs dark
        (Rail-only, proposed there as future work).
    `spare_rails`: idle rail switches, to which the optical switches also lead.
    """
    builder = Domains(
        domains,
        hb_size,
        inside=inside,
        radix=radix,
        hb_rate_bps=bps(hb_gbps),
        nic_rate_bps=bps(nic_gbps),
        hb_delay_ps=ns(hb_delay_ns),
        nic_delay_ps=ns(nic_delay_ns),
        spine_delay_ps=ns(spine_delay_ns),
        spares=spares,
        spare_domains=spare_domains,
        optical=optical,
        reconfiguration_ps=us(reconfiguration_us),
    )
    shape = clos_of(domains + spare_domains, radix, uplinks=uplinks, spines=spines)
    _check_spare_rails(spare_rails, optical=optical, leaves=shape.leaves)
    for rank in range(hb_size if optical else builder.ranks):
        leaves = _leaves(builder, rank, shape.leaves)

        def spine(number: int, rank: int = rank) -> tuple[str, int]:
            return f"rail{rank}s{number}", builder.at(AddressClass.SPINE, domain=number, rank=rank)

        def core(number: int, rank: int = rank) -> tuple[str, int]:
            return f"rail{rank}c{number}", builder.at(AddressClass.CORE, domain=number, rank=rank)

        builder.join(shape, leaves, _chunks(builder.rail(rank), shape.below), spine, core)
    if optical:
        builder.idle(spare_rails)
    return builder.fabric("rail-only")


def _check_spare_rails(count: int, *, optical: bool, leaves: int) -> None:
    if count and not optical:
        raise TopologyError(
            f"spare_rails is {count}, but no optical switch leads to spare rails",
            remedy="add optical switches with the parameter optical",
        )
    if count and leaves > 1:
        raise TopologyError(
            f"spare_rails is {count}, but a rail has {leaves} leaves; only rails of one leaf can have spares",
            remedy="use a radix of as many ports as there are domains",
        )


@family(
    "GPUs in HB domains, leaves of one rail each and spines that join the rails",
    source=Source(RAIL_ONLY, "rail-optimised network"),
)
def rail_optimised(
    domains: DomainCount = 4,
    hb_size: HbSize = 8,
    *,
    inside: Inside = "mesh",
    radix: Radix = RADIX,
    uplinks: Uplinks = 0,
    spines: Spines = 0,
    hb_gbps: HbRate = HB_RATE_GBPS,
    nic_gbps: NicRate = NIC_RATE_GBPS,
    hb_delay_ns: HbDelay = LINK_DELAY_NS,
    nic_delay_ns: NicDelay = NIC_DELAY_NS,
    spine_delay_ns: SpineDelay = SPINE_DELAY_NS,
) -> Fabric:
    """Build leaves of one rail each, joined by spines, and by cores if one tier of spines is not enough.

    Leaves of equal domains have consecutive numbers, so that a pod of a network with cores serves whole
    domains.
    """
    builder = Domains(
        domains,
        hb_size,
        inside=inside,
        radix=radix,
        hb_rate_bps=bps(hb_gbps),
        nic_rate_bps=bps(nic_gbps),
        hb_delay_ps=ns(hb_delay_ns),
        nic_delay_ps=ns(nic_delay_ns),
        spine_delay_ps=ns(spine_delay_ns),
    )
    wide = ceil(domains / max(1, radix // 2))
    below = ceil(domains / wide)
    shape = clos(wide * hb_size, below, radix, uplinks=uplinks, spines=spines)
    names = [_leaves(builder, rank, wide) for rank in range(hb_size)]
    rails = [
        _chunks([builder.gpu(domain, rank) for domain in range(domains)], below) for rank in range(hb_size)
    ]
    builder.join(
        shape,
        [rail[number] for number in range(wide) for rail in names],
        [rail[number] for number in range(wide) for rail in rails],
        lambda number: (f"spine{number}", builder.number(AddressClass.SPINE, number)),
        lambda number: (f"core{number}", builder.number(AddressClass.CORE, number)),
    )
    return builder.fabric("rail-optimised")


@family(
    "GPUs in HB domains, one Clos whose leaves take GPUs in their order",
    source=Source(RAIL_ONLY, "any-to-any network"),
)
def any_to_any(
    domains: DomainCount = 4,
    hb_size: HbSize = 8,
    *,
    inside: Inside = "mesh",
    radix: Radix = RADIX,
    uplinks: Uplinks = 0,
    spines: Spines = 0,
    hb_gbps: HbRate = HB_RATE_GBPS,
    nic_gbps: NicRate = NIC_RATE_GBPS,
    hb_delay_ns: HbDelay = LINK_DELAY_NS,
    nic_delay_ns: NicDelay = NIC_DELAY_NS,
    spine_delay_ns: SpineDelay = SPINE_DELAY_NS,
) -> Fabric:
    """Build one folded Clos of the fewest tiers for all GPUs; GPUs fill the leaves domain by domain."""
    builder = Domains(
        domains,
        hb_size,
        inside=inside,
        radix=radix,
        hb_rate_bps=bps(hb_gbps),
        nic_rate_bps=bps(nic_gbps),
        hb_delay_ps=ns(hb_delay_ns),
        nic_delay_ps=ns(nic_delay_ns),
        spine_delay_ps=ns(spine_delay_ns),
    )
    shape = clos_of(domains * hb_size, radix, uplinks=uplinks, spines=spines)
    leaves = [f"leaf{number}" for number in range(shape.leaves)]
    for number, name in enumerate(leaves):
        builder.switch(AddressClass.LEAF, name, builder.number(AddressClass.LEAF, number))
    gpus = [builder.gpu(domain, rank) for domain in range(domains) for rank in range(hb_size)]
    builder.join(
        shape,
        leaves,
        _chunks(gpus, shape.below),
        lambda number: (f"spine{number}", builder.number(AddressClass.SPINE, number)),
        lambda number: (f"core{number}", builder.number(AddressClass.CORE, number)),
    )
    return builder.fabric("any-to-any")


def _leaves(builder: Domains, rank: int, count: int) -> list[str]:
    """Add the leaves of a rail and return their names; a single leaf is named by the rail alone."""
    names = [f"rail{rank}" if count == 1 else f"rail{rank}l{number}" for number in range(count)]
    for number, name in enumerate(names):
        builder.switch(AddressClass.LEAF, name, builder.at(AddressClass.LEAF, domain=number, rank=rank))
    return names


def _chunks(gpus: Sequence[str], size: int) -> list[Sequence[str]]:
    return [gpus[first : first + size] for first in range(0, len(gpus), size)]
