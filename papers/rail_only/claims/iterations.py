# SPDX-License-Identifier: Apache-2.0
"""Rail-only's iteration times by domain, bandwidth, NIC and batch, from the paper's inputs."""

from __future__ import annotations

from dataclasses import replace

from papers.claims import Check, Claim, Measured, Progress, Values
from papers.claims.declare import around, at_least, changed, scaled, stated
from papers.rail_only.iteration import VARIANTS, Cluster, figures

__all__ = ["CHECKS"]

_POINTS = 5.0
_MODEL = (
    "the paper does not print its formula of an iteration; the range shows how far single assumptions move "
    "the figure: share of peak, bytes and hiding of gradients, idle stages, recomputation, cluster"
)
_GRADIENTS = f"gradients are added up after the backward pass here; {_MODEL}"
_TENSOR = (
    f"TP's AllReduce hides behind no arithmetic here, so bandwidth inside of domains counts more; {_MODEL}"
)
_IDLE = (
    f"idle pipeline stages make up a third of the time of small domains here, whatever their NICs; {_MODEL}"
)

# Name: text, place, the paper's figure, how near it has to be, ours where it is known to differ, the reason.
_FIGURES: dict[str, tuple[str, str, float, float, float | None, str]] = {
    "domains-8": (
        "GPT-146B, 32,768 H100: iteration shorter with domains of 8 than of 1",
        "section V-B, figure 8b", 43.3, _POINTS, 56.0, _GRADIENTS,
    ),
    "domains-256": (
        "GPT-146B, 32,768 H100: iteration shorter with domains of 256 than of 8",
        "section V-B, figure 8b", 30.6, _POINTS, 50.4, _IDLE,
    ),
    "small-ideal": (
        "GPT-146B: iteration longer with domains of 256 than with all GPUs in one",
        "section V-B, figure 8b", 4.1, 1.0, 14.7, _GRADIENTS,
    ),
    "large-ideal": (
        "GPT-1T: iteration longer with domains of 256 than with all GPUs in one",
        "section V-B, figure 8a", 0.9, 1.0, None, _MODEL,
    ),
    "hb-8": (
        "GPT-1T, domains of 8: saved by 9.6 over 2.4 Tbit/s inside, mean over NICs of 100 to 400 Gbit/s",
        "section V-C, figure 9a", 8.0, 2.0, 11.8, _TENSOR,
    ),
    "hb-256": (
        "GPT-1T, domains of 256: saved by 9.6 over 2.4 Tbit/s inside, mean over NICs of 100 to 400 Gbit/s",
        "section V-C, figure 9b", 13.3, _POINTS, 25.6, _TENSOR,
    ),
    "nic-8": (
        "GPT-1T, domains of 8: saved by NICs of 400 over 100 Gbit/s, mean over 2.4 to 9.6 Tbit/s inside",
        "section V-C, figure 9a", 35.9, _POINTS, 19.6, _IDLE,
    ),
    "nic-256": (
        "GPT-1T, domains of 256: saved by NICs of 400 over 100 Gbit/s, mean over 2.4 to 9.6 Tbit/s inside",
        "section V-C, figure 9b", 8.0, 2.0, 3.4, _TENSOR,
    ),
    "batch-8-256": (
        "GPT-1T, 32,768 H100, domains of 8, batch 256: speed of the ideal",
        "section V-D, figure 10b", 65, _POINTS, None, _MODEL,
    ),
    "batch-8-4096": (
        "GPT-1T, 32,768 H100, domains of 8, batch 4,096: speed of the ideal",
        "section V-D, figure 10b", 85, _POINTS, None, _MODEL,
    ),
    "batch-256-256": (
        "GPT-1T, 32,768 H100, domains of 256, batch 256: speed of the ideal",
        "section V-D, figure 10b", 95, 2.0, None, _MODEL,
    ),
    "batch-256-4096": (
        "GPT-1T, 32,768 H100, domains of 256, batch 4,096: speed of the ideal",
        "section V-D, figure 10b", 99, 1.0, None, _MODEL,
    ),
}  # fmt: skip

# Name: text, the figure that the paper has larger, and the smaller figure.
_ORDERS = {
    "order-domains": ("from 1 to 8 GPUs a domain saves more than from 8 to 256", "domains-8", "domains-256"),
    "order-models": ("domains that end slow the smaller model down more", "small-ideal", "large-ideal"),
    "order-hb": ("bandwidth inside is worth more in larger domains", "hb-256", "hb-8"),
    "order-nic": ("faster NICs are worth more with smaller domains", "nic-8", "nic-256"),
}


def _claim(name: str) -> Claim:
    text, place, paper, within, ours, reason = _FIGURES[name]
    return stated(
        name,
        text,
        paper,
        "%",
        changed("domains as slow as NICs", hb=1 / 9)
        if name.startswith(("batch-8", "hb", "nic", "domains"))
        else changed("NICs of a tenth", nic=0.1),
        place=f"Rail-only, {place}",
        within=within,
        expected=None if ours is None else around(ours, 1.0),
        reason=reason,
    )


def _order(name: str) -> Claim:
    text, more, less = _ORDERS[name]
    return stated(
        name,
        text,
        round(_FIGURES[more][2] - _FIGURES[less][2], 1),
        "points",
        scaled(-1),
        place="Rail-only, sections V-B and V-C",
        holds=at_least(1.0),
        reason=_MODEL,
    )


_CLAIMS = (*map(_claim, _FIGURES), *map(_order, _ORDERS))


def _measure(note: Progress, hb: float = 1.0, nic: float = 1.0) -> Values:
    note("searching layouts", 0.0)
    base = Cluster()
    ours = figures(base, hb, nic)
    others = []
    for done, changes in enumerate(VARIANTS.values()):
        note("other assumptions", done / len(VARIANTS))
        others.append(figures(replace(base, **changes), hb, nic))

    def spread(values: list[float]) -> str:
        return f"{min(values):.1f} to {max(values):.1f} with other assumptions"

    result: dict[str, Measured | float] = {}
    for name in _FIGURES:
        result[name] = Measured(ours[name], detail=spread([other[name] for other in others]))
    for name, (_, more, less) in _ORDERS.items():
        result[name] = Measured(
            ours[more] - ours[less], detail=spread([other[more] - other[less] for other in others])
        )
    return result


CHECKS = (
    Check("iteration", "rail-only", "iteration time by domain, bandwidth, NIC and batch", _CLAIMS, _measure),
)
