# SPDX-License-Identifier: Apache-2.0
"""Rail-only's faults, struck on the emulator: who loses the network, and what brings a rail back."""

from __future__ import annotations

from papers.claims import Check, Claim, Kind, Measured, Progress, Values, changed, exactly
from papers.claims.runs import observed

__all__ = ["CHECKS"]

_FAULTS = "Rail-only, section IV-C"
_SPARES = "13_rail_faults/scenario.yaml"
_BARE = "13_rail_faults/bare.yaml"

# The rail switch that the scenarios of experiment 13 fail is that of rank 1.
_RANK = 1

_HEALED = {
    "rail": ("a rail switch fails, with optical switches and an idle rail switch", Kind.derived),
    "gpu": ("a GPU fails, with optical switches and an idle GPU in its domain", Kind.derived),
    "domain": ("a domain fails, with an idle domain", Kind.stated),
}

_CLAIMS = (
    Claim(
        name="below",
        text="a rail switch fails: share of the GPUs cut off that are below it, if all below it are cut off",
        place=f"{_FAULTS}: the GPUs connected to a failed switch are lost",
        kind=Kind.stated,
        unit="%",
        paper=exactly(100),
        holds=exactly(100),
        mutation=changed("a GPU fails in place of the switch", bare="gpu"),
    ),
    *(
        Claim(
            name=name,
            text=f"{text}: GPUs with the right result",
            place=f"{_FAULTS}: optical switches are future work there" if kind is Kind.derived else _FAULTS,
            kind=kind,
            unit="%",
            paper=exactly(100) if kind is Kind.stated else None,
            holds=exactly(100),
            mutation=changed("no spares and no optical switches", file=_BARE),
        )
        for name, (text, kind) in _HEALED.items()
    ),
)


def _measure(note: Progress, bare: str = "rail", file: str = _SPARES) -> Values:
    """Fail a rail switch, a GPU and a domain under an AllReduce."""
    ready, seen = observed(_BARE, note, (bare,))[bare]
    below = {name for name in ready.members if ready.fabric.node(name).coordinates[0] == _RANK}
    cut_off = seen.cut_off.partition(" are cut off")[0]
    lost = set(cut_off.split(", ")) if cut_off else set()
    share = 100 * len(lost & below) / len(lost) if below <= lost else 0.0
    result: dict[str, Measured | float] = {"below": Measured(share, detail=cut_off)}
    runs = observed(file, note, _HEALED)
    for name in _HEALED:
        # A fabric without spare domains has no fault of a whole domain to strike.
        _, run = runs.get(name, (None, None))
        took = f"after {run.takeovers[0]}" if run is not None and run.takeovers else "no takeover"
        right = 100 * run.correct_nodes / run.nodes if run is not None and run.takeovers else 0.0
        result[name] = Measured(right, detail=took)
    return result


CHECKS = (
    Check(
        "faults", "rail-only", "A rail switch, a GPU and a domain fail under an AllReduce", _CLAIMS, _measure
    ),
)
