# SPDX-License-Identifier: Apache-2.0
"""Domains of GPUs joined by their NICs: rail-only, rail-optimised, and any-to-any to compare with.

A high-bandwidth (HB) domain holds GPUs that are joined by a fast fabric inside; the NIC domain is the network
between domains. A rail is the GPUs of equal rank, one of each domain (Rail-only):

    rail-only       a folded Clos a rail; nothing but the domains joins rails
    rail-optimised  leaves of one rail each, and spines that all leaves have in common
    any-to-any      one folded Clos whose leaves take GPUs in their order, whatever the rail

How many switches a tier has is derived here (`topologies.families.clos`).
"""

from collections.abc import Sequence
from math import ceil

from topologies.errors import TopologyError
from topologies.families.clos import clos, clos_of
from topologies.families.full_mesh import LINK_DELAY_PS
from topologies.families.rail_parts import (
    HB_RATE_BPS,
    NIC_DELAY_PS,
    NIC_RATE_BPS,
    RADIX,
    SPINE_DELAY_PS,
    Domains,
    Place,
)
from topologies.model.fabric import RECONFIGURATION_PS, Fabric

__all__ = ["any_to_any", "rail_only", "rail_optimised"]


def rail_only(
    domains: int = 4,
    hb_size: int = 8,
    *,
    inside: str = "mesh",
    radix: int = RADIX,
    uplinks: int = 0,
    spines: int = 0,
    hb_rate_bps: int = HB_RATE_BPS,
    nic_rate_bps: int = NIC_RATE_BPS,
    hb_delay_ps: int = LINK_DELAY_PS,
    nic_delay_ps: int = NIC_DELAY_PS,
    spine_delay_ps: int = SPINE_DELAY_PS,
    spares: int = 0,
    spare_domains: int = 0,
    spare_rails: int = 0,
    optical: bool = False,
    reconfiguration_ps: int = RECONFIGURATION_PS,
) -> Fabric:
    """A network a rail, of the fewest tiers: one switch up to `radix` domains (Rail-only).

    Each rail has switches of its own. The paper lets two rails share one that has room for both.

    `spares` are idle GPUs of each domain, `spare_domains` idle domains, wired as the others. With `optical`
    each domain has an optical switch between NICs and rails, which keeps idle GPUs dark, and `spare_rails`
    idle switches (Rail-only, an idea for later there). Without, idle GPUs are on rails of their own.
    """
    made = Domains(
        domains,
        hb_size,
        inside=inside,
        radix=radix,
        hb_rate_bps=hb_rate_bps,
        nic_rate_bps=nic_rate_bps,
        hb_delay_ps=hb_delay_ps,
        nic_delay_ps=nic_delay_ps,
        spine_delay_ps=spine_delay_ps,
        spares=spares,
        spare_domains=spare_domains,
        optical=optical,
        reconfiguration_ps=reconfiguration_ps,
    )
    shape = clos_of(domains + spare_domains, radix, uplinks=uplinks, spines=spines)
    _check_spare_rails(spare_rails, optical=optical, leaves=shape.leaves)
    for rank in range(hb_size if optical else made.ranks):
        leaves = _leaves(made, rank, shape.leaves)

        def spine(number: int, rank: int = rank) -> tuple[str, int]:
            return f"rail{rank}s{number}", made.at(Place.SPINE, domain=number, rank=rank)

        def core(number: int, rank: int = rank) -> tuple[str, int]:
            return f"rail{rank}c{number}", made.at(Place.CORE, domain=number, rank=rank)

        made.join(shape, leaves, _chunks(made.rail(rank), shape.below), spine, core)
    if optical:
        made.idle(spare_rails)
    return made.fabric("rail-only")


def _check_spare_rails(count: int, *, optical: bool, leaves: int) -> None:
    if count < 0:
        raise TopologyError(f"spare_rails is {count}", remedy="give 0 or more")
    if count and not optical:
        raise TopologyError(
            f"spare_rails is {count}, and nothing leads to them", remedy="add optical switches: optical"
        )
    if count and leaves > 1:
        raise TopologyError(
            f"spare_rails is {count}, but rails have {leaves} leaves, and spines that lead to no other",
            remedy="use a radix of as many ports as there are domains",
        )


def rail_optimised(
    domains: int = 4,
    hb_size: int = 8,
    *,
    inside: str = "mesh",
    radix: int = RADIX,
    uplinks: int = 0,
    spines: int = 0,
    hb_rate_bps: int = HB_RATE_BPS,
    nic_rate_bps: int = NIC_RATE_BPS,
    hb_delay_ps: int = LINK_DELAY_PS,
    nic_delay_ps: int = NIC_DELAY_PS,
    spine_delay_ps: int = SPINE_DELAY_PS,
) -> Fabric:
    """Leaves of one rail each, joined by spines, and by cores where one tier of spines does not do.

    Leaves of the same domains stand side by side, so that a pod of a network with cores serves whole domains.
    """
    made = Domains(
        domains,
        hb_size,
        inside=inside,
        radix=radix,
        hb_rate_bps=hb_rate_bps,
        nic_rate_bps=nic_rate_bps,
        hb_delay_ps=hb_delay_ps,
        nic_delay_ps=nic_delay_ps,
        spine_delay_ps=spine_delay_ps,
    )
    wide = ceil(domains / max(1, radix // 2))
    below = ceil(domains / wide)
    shape = clos(wide * hb_size, below, radix, uplinks=uplinks, spines=spines)
    names = [_leaves(made, rank, wide) for rank in range(hb_size)]
    rails = [_chunks([made.gpu(domain, rank) for domain in range(domains)], below) for rank in range(hb_size)]
    made.join(
        shape,
        [rail[number] for number in range(wide) for rail in names],
        [rail[number] for number in range(wide) for rail in rails],
        lambda number: (f"spine{number}", made.number(Place.SPINE, number)),
        lambda number: (f"core{number}", made.number(Place.CORE, number)),
    )
    return made.fabric("rail-optimised")


def any_to_any(
    domains: int = 4,
    hb_size: int = 8,
    *,
    inside: str = "mesh",
    radix: int = RADIX,
    uplinks: int = 0,
    spines: int = 0,
    hb_rate_bps: int = HB_RATE_BPS,
    nic_rate_bps: int = NIC_RATE_BPS,
    hb_delay_ps: int = LINK_DELAY_PS,
    nic_delay_ps: int = NIC_DELAY_PS,
    spine_delay_ps: int = SPINE_DELAY_PS,
) -> Fabric:
    """One folded Clos of the fewest tiers for all GPUs, which fill its leaves domain by domain."""
    made = Domains(
        domains,
        hb_size,
        inside=inside,
        radix=radix,
        hb_rate_bps=hb_rate_bps,
        nic_rate_bps=nic_rate_bps,
        hb_delay_ps=hb_delay_ps,
        nic_delay_ps=nic_delay_ps,
        spine_delay_ps=spine_delay_ps,
    )
    shape = clos_of(domains * hb_size, radix, uplinks=uplinks, spines=spines)
    leaves = [f"leaf{number}" for number in range(shape.leaves)]
    for number, name in enumerate(leaves):
        made.switch(Place.LEAF, name, made.number(Place.LEAF, number))
    gpus = [made.gpu(domain, rank) for domain in range(domains) for rank in range(hb_size)]
    made.join(
        shape,
        leaves,
        _chunks(gpus, shape.below),
        lambda number: (f"spine{number}", made.number(Place.SPINE, number)),
        lambda number: (f"core{number}", made.number(Place.CORE, number)),
    )
    return made.fabric("any-to-any")


def _leaves(made: Domains, rank: int, count: int) -> list[str]:
    """The leaves of a rail, which are there now; the only one is named by the rail alone."""
    names = [f"rail{rank}" if count == 1 else f"rail{rank}l{number}" for number in range(count)]
    for number, name in enumerate(names):
        made.switch(Place.LEAF, name, made.at(Place.LEAF, domain=number, rank=rank))
    return names


def _chunks(gpus: Sequence[str], size: int) -> list[Sequence[str]]:
    return [gpus[first : first + size] for first in range(0, len(gpus), size)]
