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

from dataclasses import dataclass
from typing import final

from harness.errors import ModelError
from topologies.families.clos import Clos, clos_of

__all__ = ["DOMAIN", "Parts", "any_to_any", "rail_only", "savings"]

# GPUs of a domain in Table II: the paper's GH200.
DOMAIN = 256

# Dollars and watts of a port of a switch, and of a transceiver (Rail-only, section V-E).
PORT = (694, 18)
TRANSCEIVER = (199, 9)


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers of switches with `radix` ports, and of transceivers."""

    radix: int
    switches: int
    transceivers: int

    @property
    def usd(self) -> int:
        return PORT[0] * self.radix * self.switches + TRANSCEIVER[0] * self.transceivers

    @property
    def watts(self) -> int:
        return PORT[1] * self.radix * self.switches + TRANSCEIVER[1] * self.transceivers


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


def savings(
    gpus: int, radix: int, port: tuple[float, float] = PORT, transceiver: tuple[float, float] = TRANSCEIVER
) -> tuple[float, float]:
    """Return rail-only's savings of cost and power, as shares; a port and a transceiver are ($, watts)."""
    base, ours = any_to_any(gpus, radix), rail_only(gpus, radix)

    def share(at: int) -> float:
        def total(parts: Parts) -> float:
            return port[at] * radix * parts.switches + transceiver[at] * parts.transceivers

        return 1 - total(ours) / total(base)

    return share(0), share(1)
