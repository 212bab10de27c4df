# SPDX-License-Identifier: Apache-2.0
"""Constructors of claims, for each kind, and of their intervals and mutations.

    lanes = stated("lanes", "lanes between racks", 128, "lanes", changed("x8", uplink_lanes=8), place="§3.3")
    ratio = derived("ratio", "active to optical cable", 1.5, "x", scaled(2), within=0.01, place="Table 2")

A figure is a number or an `Interval`; a paper's figure may be words such as "fewer", with `holds` beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from papers.claims.claim import Claim, Interval, Kind, Mutation

__all__ = [
    "Declared",
    "Figure",
    "around",
    "at_least",
    "at_most",
    "between",
    "changed",
    "derived",
    "fitted",
    "identity",
    "recalled",
    "scaled",
    "shifted",
    "stated",
]

Figure: TypeAlias = float | Interval
"""A figure in the claim's unit; a number means exactly that number."""

Declared: TypeAlias = Callable[..., Claim]
"""A constructor of claims: `stated`, `derived`, `fitted` or `recalled`."""


def _compared(
    kind: Kind,
    name: str,
    text: str,
    paper: Figure | str | None,
    unit: str,
    mutation: Mutation | None,
    *,
    place: str,
    within: float = 0,
    holds: Figure | None = None,
    expected: Figure | None = None,
    reason: str = "",
) -> Claim:
    """Return a claim that compares ours with the paper's figure.

    Args:
        kind: origin of the paper's figure.
        name: slug of the claim.
        text: the quantity, in words.
        paper: the paper's figure.
        unit: unit of all figures of the claim.
        mutation: the change that turns the verdict.
        place: the paper's section, figure or table.
        within: largest distance from the paper's figure at which the claim holds.
        holds: values at which the claim holds, in place of those near the paper's figure.
        expected: for a known difference, the values that ours is expected to have.
        reason: why the difference exists, or what the claim rests on.

    Raises:
        ValueError: The paper's figure is no number or interval, and `holds` is missing.
    """
    if holds is None:
        if paper is None or isinstance(paper, str):
            raise ValueError(f"claim {name!r}: the paper's figure is no number but {paper!r}; give `holds`")
        holds = _interval(paper, within)
    return Claim(
        name=name,
        text=text,
        place=place,
        kind=kind,
        holds=_interval(holds),
        mutation=mutation,
        unit=unit,
        paper=_interval(paper) if isinstance(paper, float | int) else paper,
        expected=None if expected is None else _interval(expected),
        reason=reason,
    )


# A figure that the paper prints, one that a parameter was fitted to, one remembered of the paper.
stated = partial(_compared, Kind.stated)
fitted = partial(_compared, Kind.fitted)
recalled = partial(_compared, Kind.recalled)
# The paper's formula on the paper's inputs: no mutation can turn it.
identity = partial(_compared, Kind.identity, mutation=None)


def derived(
    name: str,
    text: str,
    holds: Figure,
    unit: str,
    mutation: Mutation,
    *,
    place: str,
    within: float = 0,
    paper: Figure | None = None,
    expected: Figure | None = None,
    reason: str = "",
) -> Claim:
    """Return a claim of a figure that follows from the paper, or is a target of this project.

    Arguments as in `stated`; `holds` is the derived figure, `paper` a figure of the paper to print beside it.
    """
    return _compared(
        Kind.derived,
        name,
        text,
        paper,
        unit,
        mutation,
        place=place,
        holds=_interval(holds, within),
        expected=expected,
        reason=reason,
    )


def _interval(figure: Figure, within: float = 0) -> Interval:
    if isinstance(figure, Interval):
        return figure
    return around(figure, within) if within else Interval(figure, figure)


def between(low: float, high: float) -> Interval:
    """Return the interval from `low` to `high`."""
    return Interval(low, high)


def around(value: float, within: float) -> Interval:
    """Return the interval of all values at most `within` away, in the claim's unit."""
    return Interval(value - within, value + within)


def at_least(value: float) -> Interval:
    """Return the interval without an upper end."""
    return Interval(low=value)


def at_most(value: float) -> Interval:
    """Return the interval without a lower end."""
    return Interval(high=value)


def changed(what: str, **parameters: Any) -> Mutation:
    """Return the mutation that measures again with other parameters; `what` describes the change."""
    return Mutation(what, parameters)


def scaled(by: float) -> Mutation:
    """Return the mutation that multiplies the measured value."""
    return Mutation(f"the value times {by:g}", scale=by)


def shifted(by: float) -> Mutation:
    """Return the mutation that adds to the measured value."""
    return Mutation(f"the value {by:+g}", shift=by)
