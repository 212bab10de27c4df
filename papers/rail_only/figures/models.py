# SPDX-License-Identifier: Apache-2.0
"""Closed formulas of Rail-only: numbers of switches, cost, power, and times of collectives."""

from __future__ import annotations

from papers.claims import Measured, Progress, Values
from papers.rail_only import parts as bill
from papers.rail_only.collectives import A100, H100, Grid, nic_share, slowdown
from topologies import any_to_any, rail_only

# GPUs and radix in the rows of Table II (Rail-only).
_SAVED = ((32768, 64), (32768, 128), (32768, 256), (65536, 64), (65536, 128), (65536, 256))

# Number of domains of eight GPUs, and radix.
_GENERATED = ((256, 64), (256, 32), (64, 64), (128, 16))


def counts(note: Progress, part: int = 1) -> Values:
    """Count the switches and transceivers of Table II, for 1 / `part` of its GPUs."""
    note("computing", 0.0)
    result = {}
    for gpus, radix in _SAVED:
        number = gpus // part
        for network, parts in (
            ("any-to-any", bill.any_to_any(number, radix)),
            ("rail-only", bill.rail_only(number, radix)),
        ):
            result[f"{network}-{gpus}-{radix}-switches"] = float(parts.switches)
            result[f"{network}-{gpus}-{radix}-transceivers"] = float(parts.transceivers)
    return result


def fabrics(note: Progress) -> Values:
    """Count switches and transceivers of generated fabrics; addresses limit a fabric to under 8,192 GPUs."""
    result = {}
    for done, (domains, radix) in enumerate(_GENERATED):
        note(f"generating {domains} domains of 8", done / len(_GENERATED))
        for network, create in (("any-to-any", any_to_any), ("rail-only", rail_only)):
            fabric = create(domains, 8, radix=radix)
            name = f"{network}-{domains}-{radix}"
            cables = sum(link.lanes for link in fabric.links if link.dimension is None)
            result[f"{name}-switches"] = float(sum(1 for node in fabric.switches))
            result[f"{name}-transceivers"] = float(2 * cables)
    return result


def savings(note: Progress, transceiver: tuple[float, float] | None = None) -> Values:
    """Return the cost and power saved by rail-only, in percent, million $ and MW.

    `transceiver` is the price in $ and the power in W of a transceiver; None: the paper's.
    """
    note("computing", 0.0)
    result: dict[str, Measured | float] = {}
    pairs = []
    for gpus, radix in _SAVED:
        shares = bill.savings(gpus, radix, transceiver=transceiver or bill.TRANSCEIVER)
        base, ours = bill.any_to_any(gpus, radix), bill.rail_only(gpus, radix)
        pairs.append((base, ours))
        millions = f"{base.usd / 1e6:.1f} M$ less {(base.usd - ours.usd) / 1e6:.1f} M$"
        result[f"cost-{gpus}-{radix}"] = Measured(100 * shares[0], detail=millions)
        result[f"power-{gpus}-{radix}"] = 100 * shares[1]
    dollars = sorted((base.usd - ours.usd) / 1e6 for base, ours in pairs)
    watts = sorted((base.watts - ours.watts) / 1e6 for base, ours in pairs)
    base, ours = pairs[0]
    megawatts = {"least-mw": watts[0], "most-mw": watts[-1], "network-mw": base.watts / 1e6}
    return {
        **result,
        "least-usd": dollars[0],
        "most-usd": dollars[-1],
        "network-usd": base.usd / 1e6,
        **megawatts,
        **{f"{name}-1024": value / 1.024 for name, value in megawatts.items()},
        "switch-share": 100 * ours.switches / base.switches,
    }


def collectives(
    note: Progress, domain: int = 8, large: int = 256, inside: int = 32, wider: float = 1
) -> Values:
    """Return the slowdown of All-to-All without spines, and the NICs' share of AllReduce, in percent.

    Args:
        domain: GPUs of a domain.
        large: GPUs of a large domain.
        inside: GPUs of a domain, for the NICs' share.
        wider: factor of the bandwidth inside domains, for the slowdown by bandwidths alone.
    """
    note("computing", 0.0)
    result: dict[str, Measured | float] = {"nic-share": 100 * nic_share(Grid(inside, 2))}
    for name, rates in (("A100", A100), ("H100", H100)):
        result[f"dgx-{name.lower()}"] = 100 * rates.nic / (wider * rates.hb)
        result[f"exact-{name.lower()}"] = 100 * slowdown(Grid(domain, 128), rates)
        result[f"large-{name.lower()}"] = 100 * slowdown(Grid(large, 128), rates)
    return result
