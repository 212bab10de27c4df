# SPDX-License-Identifier: Apache-2.0
"""Fidelity report: whether the times of a real-time run are trustworthy, with reasons and remedies.

docs/testbeds/fidelity.md explains every figure. A run in virtual time has no fidelity report.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from emulation.fidelity import DROP_PLACES, Fidelity, Measured, duration, rate
from harness.report.figures.comparison_charts import Dropped, Used, drops_svg, limits_svg
from harness.report.markup import shown, table
from harness.report.results import Result
from harness.scenario.schema import Scenario, Variant

__all__ = [
    "NOT_TRUSTWORTHY",
    "TRUSTWORTHY",
    "FIDELITY_STYLE",
    "remedies",
    "verdict",
    "verdict_html",
    "fidelity_html",
]

TRUSTWORTHY = "timing trustworthy"
NOT_TRUSTWORTHY = "TIMING NOT TRUSTWORTHY"

FIDELITY_STYLE = """
.fidelity { margin: 1.4rem 0; padding: .9rem 1.1rem; border: 1px solid var(--line); border-left: 6px solid;
  border-radius: 10px; background: var(--card); }
.fidelity strong { letter-spacing: .03em; }
.fidelity p, .fidelity details { margin: .5rem 0 0; color: var(--ink); }
.fidelity summary { cursor: pointer; }
.fidelity ul { margin: .2rem 0 0; padding-left: 1.3rem; }
"""


def verdict(fidelity: Mapping[str, Fidelity]) -> str:
    """Return the verdict on all times, TRUSTWORTHY or NOT_TRUSTWORTHY; empty in virtual time."""
    if not fidelity:
        return ""
    return TRUSTWORTHY if all(run.trustworthy for run in fidelity.values()) else NOT_TRUSTWORTHY


def verdict_html(scenario: Scenario, result: Result) -> str:
    """Return the verdict as HTML, with its reasons and remedies; empty in virtual time."""
    word = verdict(result.fidelity)
    if not word:
        return ""
    if word == TRUSTWORTHY:
        return "\n".join(
            [
                f'<div class="fidelity yes"><strong>{word}</strong>',
                "<p>Run in real time; every limit of the measurement was kept.</p></div>",
            ]
        )
    doubtful = [
        (variant, result.fidelity[variant.name])
        for variant in scenario.variants
        if variant.name in result.fidelity and not result.fidelity[variant.name].trustworthy
    ]
    helps = "; ".join(remedies([fidelity for _, fidelity in doubtful]))
    return "\n".join(
        [
            f'<div class="fidelity no"><strong>{word}</strong>',
            "<p>The times may depend on the machine that ran the scenario, not only on the fabric. Metrics",
            "that depend on times have a question mark, and assertions about them are not judged. Assertions",
            "about the data are judged.</p>",
            *(_reasons(variant, fidelity, len(doubtful) == 1) for variant, fidelity in doubtful),
            *([f"<p>Remedies: {escape(helps)}.</p>"] if helps else []),
            "</div>",
        ]
    )


def _reasons(variant: Variant, fidelity: Fidelity, unfolded: bool) -> str:
    count = len(fidelity.reasons)
    broken = f"{count} {'limit' if count == 1 else 'limits'} broken"
    reasons = "\n".join(f"<li>{escape(reason)}</li>" for reason in fidelity.reasons)
    head = f"<details{' open' if unfolded else ''}><summary>{escape(variant.label)}: {broken}</summary>"
    return f"{head}\n<ul>\n{reasons}\n</ul></details>"


def remedies(doubtful: list[Fidelity]) -> list[str]:
    """Return the remedies of untrustworthy runs: the largest suggested dilation, then all other remedies."""
    slowest = max((run.suggested_dilation or 0 for run in doubtful), default=0)
    slower = [f"slower time, --dilation {slowest}"] if slowest else []
    return slower + list(dict.fromkeys(remedy for run in doubtful for remedy in run.remedies))


def fidelity_html(scenario: Scenario, result: Result) -> str:
    """Return the fidelity report as HTML, with all measurements of the machine; empty in virtual time."""
    variants = [variant for variant in scenario.variants if variant.name in result.fidelity]
    if not variants:
        return ""
    parts = [
        "<h2>Fidelity of the times</h2>",
        '<p class="soft">The run was in real time, on processors shared by generators, switches and kernel.',
        "Each mark is a variant; a mark to the right of the line exceeds its limit.</p>",
        f"<figure>{limits_svg(_used(scenario, result))}</figure>",
        _table(variants, result.fidelity),
        "<h2>Places of frame loss</h2>",
        _drops(scenario, result),
    ]
    notes = dict.fromkeys(
        note for variant in variants for note in result.fidelity[variant.name].measured.notes
    )
    if notes:
        parts += ["<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"]
    return "\n".join(parts)


def _used(scenario: Scenario, result: Result) -> list[Used]:
    return [
        Used(
            index,
            variant.label,
            {check.what: check.used for check in result.fidelity[variant.name].checks},
        )
        for index, variant in enumerate(scenario.variants)
        if variant.name in result.fidelity
    ]


def _table(variants: list[Variant], fidelity: Mapping[str, Fidelity]) -> str:
    runs = [fidelity[variant.name] for variant in variants]
    judged = [
        (
            escape(checks[0].what),
            escape(checks[0].limit),
            *(escape(check.value) if check.holds else _broken(check.value) for check in checks),
        )
        for checks in zip(*(run.checks for run in runs), strict=True)
    ]
    seen = [(what, "", *(escape(of(run.measured)) for run in runs)) for what, of in _SHOWN.items()]
    labels = [escape(variant.label) for variant in variants]
    return table(("measured", "limit", *labels), judged + seen, numbers=0)


def _broken(value: str) -> str:
    return f'<span class="no">{escape(value)}</span>'


def _three(values_us: tuple[float, float, float]) -> str:
    return ", ".join(duration(value) for value in values_us)


def _scenario_time(values_us: tuple[float, float, float], measured: Measured) -> str:
    median, most, worst = values_us
    slow = measured.dilation
    return _three((median / slow, most / slow, worst / slow))


# Rows of the fidelity table that have no limit: name, and value of a measurement.
_SHOWN = {
    "a second of the scenario took": lambda m: f"{shown(m.dilation)} s",
    "a generator may send": lambda m: rate(m.stated_bps),
    "bytes offered, sent": lambda m: f"{m.offered_bytes:,}, {m.sent_bytes:,}",
    "lateness: median, 99th percentile, maximum": lambda m: _three(m.lateness_us),
    "lateness in scenario time": lambda m: _scenario_time(m.lateness_us, m),
    "wait in a generator: median, 99th percentile, maximum": lambda m: _three(m.waiting_us),
    "wait in scenario time": lambda m: _scenario_time(m.waiting_us, m),
}


def _drops(scenario: Scenario, result: Result) -> str:
    lost = [
        Dropped(index, variant.label, result.fidelity[variant.name].measured.drops)
        for index, variant in enumerate(scenario.variants)
        if variant.name in result.fidelity
    ]
    places = [place for place in DROP_PLACES if any(variant.frames.get(place) for variant in lost)]
    places += sorted(
        {place for variant in lost for place, count in variant.frames.items() if count} - set(places)
    )
    if not places:
        return "<p>No frame was lost on its way.</p>"
    return "\n".join(
        [
            f"<figure>{drops_svg(lost, places)}</figure>",
            "<p>" + " ".join(f"<b>{escape(place)}</b>: {escape(meaning(place))}." for place in places),
            "Frames refused by a program or lost by a fault are lost in virtual time as well, and do not",
            "make times doubtful; each other lost frame costs a retransmission timeout.</p>",
        ]
    )


def meaning(place: str) -> str:
    """Return the meaning of a place of frame loss, one of DROP_PLACES."""
    return DROP_PLACES.get(place, "a place without a description")
