# SPDX-License-Identifier: Apache-2.0
"""Number, cost and power of switches and transceivers in the NIC domain (Rail-only, Table II).

Published: savings as shares and in dollars; prices of 694 $ and 18 W a switch port, 199 $ and 9 W a
transceiver.

Derived here: the numbers of switches and transceivers. Networks are folded Clos networks with the fewest
tiers (`topologies.families.clos`), as the generators build them. Every cable has a transceiver at both ends,
also cables to NICs. Any-to-any is one network for all GPUs; rail-only has one network for each of the 256
GPUs of a domain. A switch with enough ports for several rails serves several rails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import topologies
from harness.errors import ModelError
from papers.claims import Measured, Progress, Values
from topologies.families.clos import Clos, clos_of

__all__ = ["DOMAIN", "Parts", "any_to_any", "generated", "rail_only", "table_2"]

# GPUs of a domain in Table II: the paper's GH200.
DOMAIN = 256

# Dollars and watts of a port of a switch, and of a transceiver (Rail-only, section V-E).
PORT = (694, 18)
TRANSCEIVER = (199.0, 9.0)

# GPUs and radix in the rows of Table II.
_ROWS = ((32768, 64), (32768, 128), (32768, 256), (65536, 64), (65536, 128), (65536, 256))

# Number of domains of eight GPUs, and radix. Addresses limit a generated fabric to under 8,192 GPUs.
_GENERATED = ((256, 64), (256, 32), (64, 64), (128, 16))


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers of switches with `radix` ports and of transceivers, and a transceiver's dollars and watts."""

    radix: int
    switches: int
    transceivers: int
    transceiver: tuple[float, float] = TRANSCEIVER

    @property
    def usd(self) -> float:
        return PORT[0] * self.radix * self.switches + self.transceiver[0] * self.transceivers

    @property
    def watts(self) -> float:
        return PORT[1] * self.radix * self.switches + self.transceiver[1] * self.transceivers


def any_to_any(gpus: int, radix: int) -> Parts:
    """Return the switches and transceivers of one network for all GPUs."""
    shape = clos_of(gpus, radix)
    return Parts(radix, shape.switches, _transceivers(shape, gpus))


def rail_only(gpus: int, radix: int, domain: int = DOMAIN) -> Parts:
    """Return the switches and transceivers of all rails, a network for each rail.

    ModelError if the GPUs do not fill whole domains.
    """
    if domain < 1 or gpus < domain or gpus % domain:
        raise ModelError(
            f"{gpus} GPUs do not fill whole domains of {domain}", remedy="use a multiple of the domain"
        )
    rail = gpus // domain
    shape = clos_of(rail, radix)
    together = radix // rail if shape.tiers == 1 else 1
    return Parts(radix, -(-domain * shape.switches // together), domain * _transceivers(shape, rail))


def _transceivers(shape: Clos, endpoints: int) -> int:
    return 2 * (endpoints + shape.trunk_cables)


def table_2(part: int = 1, transceiver: tuple[float, float] = TRANSCEIVER) -> Values:
    """Return the switches, transceivers, M$ and MW of Table II's networks, and the savings of rail-only.

    Args:
        part: divisor of the numbers of GPUs.
        transceiver: price in $ and power in W of a transceiver.
    """
    result: dict[str, Measured | float] = {}
    for gpus, radix in _ROWS:
        row = f"{gpus}-{radix}"
        base, ours = (
            replace(network(gpus // part, radix), transceiver=transceiver)
            for network in (any_to_any, rail_only)
        )
        for name, parts in (("any-to-any", base), ("rail-only", ours)):
            result[f"{name}-{row}-switches"] = parts.switches
            result[f"{name}-{row}-transceivers"] = parts.transceivers
        network_usd, network_mw = base.usd / 1e6, base.watts / 1e6
        saved_usd, saved_mw = (base.usd - ours.usd) / 1e6, (base.watts - ours.watts) / 1e6
        words = f"{network_usd:.1f} M$ less {saved_usd:.1f} M$"
        result |= {f"network-{row}-usd": network_usd, f"network-{row}-mw": network_mw}
        result |= {f"saved-{row}-usd": saved_usd, f"saved-{row}-mw": saved_mw}
        result[f"cost-{row}"] = Measured(100 * saved_usd / network_usd, detail=words)
        result[f"power-{row}"] = 100 * saved_mw / network_mw
    return result


def generated(note: Progress) -> Values:
    """Count the switches and transceivers of generated fabrics."""
    result: dict[str, float] = {}
    networks = {"any-to-any": topologies.any_to_any, "rail-only": topologies.rail_only}
    for done, (domains, radix) in enumerate(_GENERATED):
        note(f"generating {domains} domains of 8", done / len(_GENERATED))
        for network, create in networks.items():
            fabric = create(domains, 8, radix=radix)
            cables = sum(link.lanes for link in fabric.links if link.dimension is None)
            result[f"{network}-{domains}-{radix}-switches"] = len(list(fabric.switches))
            result[f"{network}-{domains}-{radix}-transceivers"] = 2 * cables
    return result
