# SPDX-License-Identifier: Apache-2.0
"""The lab's figures as plain values, and as the tables of the performance guide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, final

from bench.figures import Series, machine

__all__ = ["PICTURE", "LabResult", "lab_document", "lab_text"]

PICTURE = "lab-rack.svg"
TITLES = {"embedded": "embedded", "builtin": "Mininet, built-in switch", "bmv2": "Mininet, BMv2"}
TARGET_START_SECONDS = 30

# Rows of the first table: what, and the figure of it.
STARTS = {
    "namespaces, s": "namespaces",
    "links, s": "links",
    "switches, s": "switches",
    "programs and all table entries over P4Runtime, s": "tables",
    "agents, s": "hosts",
    "**start, all of it, s**": "start",
    "stop, s": "stop",
    "memory of all processes, MiB": "pss_mib",
    "memory gone from the machine, MiB": "fell_mib",
    "processes": "processes",
}

COSTS = {
    "agents, µs a data frame": "agent_us_a_frame",
    "switch processes, µs a frame through a switch": "switch_us_a_pass",
    "all else on the machine, µs a frame through a switch": "rest_us_a_pass",
}


@final
@dataclass(frozen=True, slots=True)
class LabResult:
    """`starts` by kind of switch and figure; `runs` by kind, `embedded` among them, and variant."""

    fabric: str
    bmv2_version: str
    starts: Mapping[str, Mapping[str, Series]]
    runs: Mapping[str, Mapping[str, Mapping[str, Any]]]


def lab_document(result: LabResult) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "fabric": result.fabric,
        "bmv2": result.bmv2_version or None,
        "starts": {
            kind: {name: series.as_json() for name, series in figures.items()}
            for kind, figures in result.starts.items()
        },
        "runs": result.runs,
    }


def lab_text(result: LabResult) -> str:
    """Markdown, to stand between the marks of the guide."""
    today = datetime.now(UTC).date().isoformat()
    some = next(iter(result.starts.values()))
    rounds = len(some["start"].values)
    measured = f"Measured on {today}: {machine()}; BMv2 {result.bmv2_version or 'not installed'}."
    how = f"Start and memory: median of {rounds}, in brackets minimum and maximum. Each run: once."
    size = f"{some['interfaces'].median:,.0f} interfaces, {some['entries'].median:,.0f} table entries."
    parts = [
        measured,
        how,
        "",
        *_starts(result),
        "",
        f"{size} Target for the start with the built-in switch: at most {TARGET_START_SECONDS} s.",
        "",
        *(line for variant in _variants(result) for line in (*_runs(result, variant), "")),
        *_doubts(result),
        *_costs(result),
        "",
        f"![The report of the run on {TITLES[_last(result)]}](../images/{PICTURE})",
    ]
    return "\n".join(parts)


def _starts(result: LabResult) -> list[str]:
    kinds = list(result.starts)
    return [
        f"| {result.fabric} | " + " | ".join(TITLES[kind] for kind in kinds) + " |",
        "|---|" + "---:|" * len(kinds),
        *(
            f"| {what} | " + " | ".join(_spread(result.starts[kind][name]) for kind in kinds) + " |"
            for what, name in STARTS.items()
        ),
    ]


def _spread(series: Series) -> str:
    values = [_number(value) for value in (series.median, min(series.values), max(series.values))]
    return values[0] if len(set(values)) == 1 else f"{values[0]} ({values[1]} to {values[2]})"


def _number(value: float) -> str:
    """Three digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _variants(result: LabResult) -> list[str]:
    return list(next(iter(result.runs.values())))


def _runs(result: LabResult, variant: str) -> list[str]:
    runs = {kind: variants[variant] for kind, variants in result.runs.items()}
    bound = next(iter(runs.values()))["bound_us"]

    def row(what: str, say: Callable[[Mapping[str, Any]], str], *, real: bool = False) -> str:
        cells = (say(run) if not real or "dilation" in run else "" for run in runs.values())
        return f"| {what} | " + " | ".join(cells) + " |"

    return [
        f"| AllReduce, {variant} | " + " | ".join(TITLES[kind] for kind in runs) + " |",
        "|---|" + "---:|" * len(runs),
        row("NPUs with the right array", lambda item: f"{item['correct_npus']} of {item['npus']}"),
        row(
            f"completion, µs of the scenario; bound {bound:.3f}",
            lambda item: f"{item['completion_us']:.3f}",
        ),
        row("data frames, each counted once", lambda item: f"{item['data_frames']:,}"),
        row("retransmissions", lambda item: f"{item['retransmitted_frames']:,}"),
        row("real seconds", lambda item: _number(item.get("real_seconds", item["wall_seconds"]))),
        row("dilation", lambda item: f"{item['dilation']:,}", real=True),
        row("processors busy", lambda item: f"{100 * item['cpu_busy']:.0f} %", real=True),
        row(
            "frames through switches, a real second",
            lambda item: _number(item["passes_a_second"]),
            real=True,
        ),
        row("times trustworthy", lambda item: "yes" if item["trustworthy"] else "no", real=True),
    ]


def _doubts(result: LabResult) -> list[str]:
    said = [
        f"{TITLES[kind]}, {variant}: {'; '.join(item['reasons'])}."
        for kind, variants in result.runs.items()
        for variant, item in variants.items()
        if item.get("reasons")
    ]
    return [line for doubt in said for line in (doubt, "")]


def _costs(result: LabResult) -> list[str]:
    kinds = [kind for kind in result.runs if kind != "embedded"]
    first = _variants(result)[0]
    costs = [result.runs[kind][first] for kind in kinds]
    return [
        f"| processor time, {first} run | " + " | ".join(TITLES[kind] for kind in kinds) + " |",
        "|---|" + "---:|" * len(kinds),
        *(
            f"| {what} | " + " | ".join(_number(cost[name]) for cost in costs) + " |"
            for what, name in COSTS.items()
        ),
    ]


def _last(result: LabResult) -> str:
    return list(result.runs)[-1]
