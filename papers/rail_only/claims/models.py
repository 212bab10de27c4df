# SPDX-License-Identifier: Apache-2.0
"""Rail-only's switches, cost, power and equations of collectives, in closed form."""

from __future__ import annotations

from collections.abc import Mapping

from papers.claims import Check, Claim, Measured, Mutation, Progress, Values
from papers.claims.declare import Declared, around, changed, derived, fitted, scaled, shifted, stated
from papers.rail_only import parts as bill
from papers.rail_only.collectives import A100, H100, Grid, nic_share, slowdown
from topologies import any_to_any, rail_only

__all__ = ["CHECKS"]

# GPUs, radix: % of cost and of power that rail-only saves (Rail-only, Table II).
_SAVED = {
    (32768, 64): (38, 37),
    (32768, 128): (77, 75),
    (32768, 256): (62, 60),
    (65536, 64): (38, 37),
    (65536, 128): (38, 37),
    (65536, 256): (77, 75),
}
_DOMAIN = 256

# Domains of eight GPUs, radix: switches and transceivers of any-to-any and of rail-only, by the formula.
_GENERATED = {
    (256, 64): {"any-to-any": (96, 8192), "rail-only": (96, 8192)},
    (256, 32): {"any-to-any": (320, 12288), "rail-only": (192, 8192)},
    (64, 64): {"any-to-any": (24, 2048), "rail-only": (8, 1024)},
    (128, 16): {"any-to-any": (320, 6144), "rail-only": (192, 4096)},
}


def _full(gpus: int, radix: int, rails: int) -> tuple[int, int]:
    """Return switches and transceivers of full networks of t tiers: (2t - 1) n/r and 2tn for n GPUs."""
    size = gpus // rails
    tiers = 1 if size <= radix else 2 if size <= radix**2 // 2 else 3
    return (2 * tiers - 1) * gpus // radix, 2 * tiers * gpus


def _count(name: str, text: str, unit: str, count: int, mutation: Mutation) -> Claim:
    return derived(
        f"{name}-{unit}",
        f"{unit}, {text}",
        count,
        unit,
        mutation,
        place="derived here: (2t - 1) n/r switches and 2tn transceivers for n GPUs, radix r, t full tiers",
    )


_COUNTS = tuple(
    _count(
        f"{network}-{gpus}-{radix}",
        f"{network}, {gpus:,} GPUs, radix {radix}",
        unit,
        count,
        changed("half the GPUs", part=2),
    )
    for gpus, radix in _SAVED
    for network, rails in (("any-to-any", 1), ("rail-only", _DOMAIN))
    for unit, count in zip(("switches", "transceivers"), _full(gpus, radix, rails), strict=True)
)


def _measure_counts(note: Progress, part: int = 1) -> Values:
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


_FABRICS = tuple(
    _count(
        f"{network}-{domains}-{radix}",
        f"{network} as generated, {domains} domains of 8, radix {radix}",
        unit,
        count,
        shifted(1),
    )
    for (domains, radix), networks in _GENERATED.items()
    for network, counts in networks.items()
    for unit, count in zip(("switches", "transceivers"), counts, strict=True)
)


def _measure_fabrics(note: Progress) -> Values:
    """Count in generated fabrics, which addresses limit to fewer than 8,192 GPUs."""
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


_FREE = changed("transceivers that cost and draw nothing", transceiver=(0, 0))
_ODD_WATTS = "the paper's megawatts are those of its Table II divided by 1.024, as if a kilowatt had 1,024 W"


def _said(
    name: str,
    text: str,
    unit: str,
    paper: float,
    within: float,
    *,
    ours: float | None = None,
    reason: str = "",
    declared: Declared = stated,
    place: str = "Rail-only, section V-E",
) -> Claim:
    """Return a claim of the paper's text; `ours`: a known difference."""
    return declared(
        name,
        text,
        paper,
        unit,
        scaled(1.1),
        place=place,
        within=within,
        expected=None if ours is None else around(ours, 0.01 * ours),
        reason=reason,
    )


_SAVINGS = (
    *(
        stated(
            f"{what}-{gpus}-{radix}",
            f"{what} saved, {gpus:,} GPUs, radix {radix}",
            share,
            "%",
            _FREE,
            place="Rail-only, Table II",
            within=1,
        )
        for (gpus, radix), shares in _SAVED.items()
        for what, share in zip(("cost", "power"), shares, strict=True)
    ),
    _said(
        "least-usd",
        "least money saved",
        "M$",
        117,
        1.2,
        ours=58.5,
        reason="two rows of Table II save 58.5 M$, both of 32,768 GPUs; 117 M$ is the next above them",
    ),
    _said("most-usd", "most money saved", "M$", 234, 2.3),
    _said(
        "network-usd",
        "cost of a network for 30,000 GPUs",
        "M$",
        200,
        2,
        ours=152.8,
        place="Rail-only, section I",
        reason="by the paper's own prices 32,768 GPUs on radix 64 cost 152.8 M$",
    ),
    _said("least-mw", "least power saved", "MW", 1.7, 0.034, ours=1.769, reason=_ODD_WATTS),
    _said("most-mw", "most power saved", "MW", 6.9, 0.138, ours=7.078, reason=_ODD_WATTS),
    _said(
        "network-mw",
        "power of 30,000 GPUs' network",
        "MW",
        4.6,
        0.092,
        ours=4.719,
        place="Rail-only, section I",
        reason=_ODD_WATTS,
    ),
    *(
        _said(
            f"{name}-1024",
            f"{text}, in kilowatts of 1,024 W",
            "MW",
            paper,
            0.02 * paper,
            declared=fitted,
            reason="1,024 W a kilowatt was chosen because the three figures then agree",
        )
        for name, text, paper in (
            ("least-mw", "least power saved", 1.7),
            ("most-mw", "most power saved", 6.9),
            ("network-mw", "power of 30,000 GPUs' network", 4.6),
        )
    ),
    _said(
        "switch-share",
        "switches that rail-only needs, radix 64",
        "%",
        75,
        1,
        ours=60,
        reason="the paper says three quarters; two tiers in place of three are three fifths, and with three "
        "fifths its 38 % and 37 % of Table II come out",
    ),
)


def _measure_savings(note: Progress, transceiver: tuple[float, float] | None = None) -> Values:
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


_PLATFORMS: Mapping[str, tuple[float, float]] = {"A100": (8.2, 7.35), "H100": (11.2, 9.80)}
_EQUATIONS = "Rail-only, abstract and section IV-B, equations 2 and 3"

_COLLECTIVES = (
    *(
        stated(
            f"dgx-{name}",
            f"All-to-All of 128 DGX {name} with 8 GPUs each: rail-only slower than rail-optimised",
            paper,
            "%",
            changed("domains of 256", domain=256),
            place=_EQUATIONS,
            within=0.2,
            expected=around(ours, 0.05),
            reason="the paper names DGX A100 and DGX H100, which have 8 GPUs, and rounds y(x - 1) to "
            "x(y - 1), which gives C_S/C_F, 8.33 and 11.11 %; with x = 8 its equations give an eighth less",
        )
        for name, (paper, ours) in _PLATFORMS.items()
    ),
    *(
        fitted(
            f"large-{name}",
            f"the same with 256 GPUs of {name}'s bandwidth in a domain",
            paper,
            "%",
            changed("domains of 8", large=8),
            place=_EQUATIONS,
            within=0.2,
            reason="the size of the domain was chosen because the figures then agree",
        )
        for name, (paper, _) in _PLATFORMS.items()
    ),
    stated(
        "nic-share",
        "AllReduce of 32 GPUs in each of 2 domains: share of bytes that NICs send, by the equations",
        2,
        "%",
        changed("8 GPUs of each domain", inside=8),
        place="Rail-only, section III-B: 98 % stay in domains",
        within=0.5,
    ),
)


def _measure_collectives(note: Progress, domain: int = 8, large: int = 256, inside: int = 32) -> Values:
    note("computing", 0.0)
    result: dict[str, Measured | float] = {"nic-share": 100 * nic_share(Grid(inside, 2))}
    for name, rates in (("A100", A100), ("H100", H100)):
        result[f"dgx-{name}"] = 100 * slowdown(Grid(domain, 128), rates)
        result[f"large-{name}"] = 100 * slowdown(Grid(large, 128), rates)
    return result


CHECKS = (
    Check("counts", "rail-only", "switches and transceivers of Table II", _COUNTS, _measure_counts),
    Check("fabrics", "rail-only", "the same counts in generated fabrics", _FABRICS, _measure_fabrics),
    Check("savings", "rail-only", "cost and power of Table II, and of the text", _SAVINGS, _measure_savings),
    Check(
        "collectives",
        "rail-only",
        "All-to-All and AllReduce by the paper's equations",
        _COLLECTIVES,
        _measure_collectives,
    ),
)
