# SPDX-License-Identifier: Apache-2.0
"""Parts, cost and power of the NIC domain (Rail-only, Table II).

The paper gives savings as shares and in money, and prices: 694 $ and 18 W a port of a switch, 199 $ and 9 W a
transceiver. How many switches and transceivers there are is derived here, with folded Clos networks of the
fewest tiers (`topologies.families.clos`), the same that the generators build: a transceiver at both ends
of every
cable, those to NICs included. Any-to-any is one such network, rail-only one for each of the 256 GPUs of a
domain; a switch that has room for several rails serves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from lab.errors import ModelError
from papers.claims.model_figure import Figure, Kind
from topologies.families.clos import Clos, clos_of

__all__ = [
    "DOMAIN",
    "TABLE",
    "Parts",
    "any_to_any",
    "count_figures",
    "rail_only",
    "said_figures",
    "saving_figures",
]

# GPUs of a domain in Table II: a GH200 of the paper.
DOMAIN = 256

PORT_USD, PORT_WATTS = 694, 18
TRANSCEIVER_USD, TRANSCEIVER_WATTS = 199, 9

TABLE_II = "Rail-only, Table II"
DERIVED = "derived here"

# GPUs, radix: % of cost and of power that rail-only saves (Rail-only, Table II).
TABLE = {
    (32768, 64): (38, 37),
    (32768, 128): (77, 75),
    (32768, 256): (62, 60),
    (65536, 64): (38, 37),
    (65536, 128): (38, 37),
    (65536, 256): (77, 75),
}


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """Switches of `radix` ports, and transceivers."""

    radix: int
    switches: int
    transceivers: int

    @property
    def usd(self) -> int:
        return PORT_USD * self.radix * self.switches + TRANSCEIVER_USD * self.transceivers

    @property
    def watts(self) -> int:
        return PORT_WATTS * self.radix * self.switches + TRANSCEIVER_WATTS * self.transceivers


def any_to_any(gpus: int, radix: int) -> Parts:
    """One network for all GPUs."""
    shape = clos_of(gpus, radix)
    return Parts(radix, shape.switches, _transceivers(shape, gpus))


def rail_only(gpus: int, radix: int, domain: int = DOMAIN) -> Parts:
    """Return the parts of a network for each rail; ModelError when GPUs do not fill their domains."""
    if domain < 1 or gpus < domain or gpus % domain:
        raise ModelError(f"{gpus} GPUs in domains of {domain}", remedy="use a multiple of the domain")
    rail = gpus // domain
    shape = clos_of(rail, radix)
    together = radix // rail if shape.tiers == 1 else 1
    return Parts(radix, -(-domain * shape.switches // together), domain * _transceivers(shape, rail))


def _transceivers(shape: Clos, endpoints: int) -> int:
    return 2 * (endpoints + shape.trunk_cables)


def count_figures() -> tuple[Figure, ...]:
    """Switches and transceivers of Table II, beside the formula for networks that are full.

    (2 t - 1) n / r switches and 2 t n transceivers, for n endpoints, radix r and t tiers.
    """
    result: list[Figure] = []
    for gpus, radix in TABLE:
        for name, created, rails in (
            ("any-to-any", any_to_any(gpus, radix), 1),
            ("rail-only", rail_only(gpus, radix), DOMAIN),
        ):
            size = gpus // rails
            tiers = 1 if size <= radix else 2 if size <= radix**2 // 2 else 3
            where = f"{name}, {gpus:,} GPUs, radix {radix}"
            for what, formula, ours in (
                ("switches", (2 * tiers - 1) * gpus // radix, created.switches),
                ("transceivers", 2 * tiers * gpus, created.transceivers),
            ):
                result.append(Figure(f"{what}, {where}", DERIVED, formula, ours, "", Kind.counted))
    return tuple(result)


def saving_figures() -> tuple[Figure, ...]:
    """Return the savings that Table II states, as shares."""
    result: list[Figure] = []
    for (gpus, radix), (cost, power) in TABLE.items():
        base, ours = any_to_any(gpus, radix), rail_only(gpus, radix)
        saved = (base.usd - ours.usd) / 1e6
        reason = f"{base.usd / 1e6:.1f} M$ less {saved:.1f} M$"
        where = f"{gpus:,} GPUs, radix {radix}"
        for what, paper, share, why in (
            ("cost", cost, 1 - ours.usd / base.usd, reason),
            ("power", power, 1 - ours.watts / base.watts, ""),
        ):
            name = f"{what} saved, {where}"
            result.append(Figure(name, TABLE_II, paper, 100 * share, "%", Kind.counted, 1.0, why, digits=1))
    return tuple(result)


def said_figures() -> tuple[Figure, ...]:
    """Return the figures stated in the text besides Table II, and where they disagree with the table.

    The range of power holds if its kilowatt has 1,024 W; so does what the largest network draws.
    """
    pairs = [(any_to_any(*row), rail_only(*row)) for row in TABLE]
    dollars = sorted((base.usd - ours.usd) / 1e6 for base, ours in pairs)
    watts = sorted((base.watts - ours.watts) / 1e6 for base, ours in pairs)
    base, ours = pairs[0]
    text = "Rail-only, text"
    odd = "the paper's megawatts are those of the table over 1.024, as if a kilowatt had 1,024 W"

    def money(name: str, paper: float, value: float, reason: str = "") -> Figure:
        return Figure(
            name, text, paper, value, "M$", Kind.counted, 0.01, reason, known=bool(reason), digits=1
        )

    def power(name: str, paper: float, value: float, reason: str = odd) -> Figure:
        return Figure(name, text, paper, value, "MW", Kind.counted, 0.02, reason, known=bool(reason))

    return (
        money(
            "least money saved",
            117,
            dollars[0],
            "two rows of the table save 58.5 M$, both of 32,768 GPUs; 117 M$ is the next above them",
        ),
        money("most money saved", 234, dollars[-1]),
        money(
            "cost of a network for over 30,000 GPUs",
            200,
            base.usd / 1e6,
            "from the introduction; by the paper's own prices 32,768 GPUs on radix 64 take 152.8 M$",
        ),
        power("least power saved", 1.7, watts[0]),
        power("least power saved, in kilowatts of 1,024 W", 1.7, watts[0] / 1.024, ""),
        power("most power saved", 6.9, watts[-1]),
        power("most power saved, in kilowatts of 1,024 W", 6.9, watts[-1] / 1.024, ""),
        power("power of 32,768 GPUs' network, radix 64", 4.6, base.watts / 1e6),
        power("the same, in kilowatts of 1,024 W", 4.6, base.watts / 1e6 / 1.024, ""),
        Figure(
            "switches that rail-only needs, radix 64",
            text,
            75.0,
            100 * ours.switches / base.switches,
            "%",
            Kind.counted,
            1.0,
            "the paper says three quarters; two tiers in place of three are three fifths, and with these its "
            "38 % and 37 % of Table II come out",
            known=True,
        ),
    )
