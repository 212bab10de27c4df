# SPDX-License-Identifier: Apache-2.0
"""Print the summary of `railyard run` after the last variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from emulation.fidelity import Measured, duration, percent
from harness.report.fidelity import TRUSTWORTHY, remedies, verdict
from harness.report.figures.circuits import lacks_words
from harness.report.markup import shown
from harness.report.measurement.job_metrics import job_outcomes
from harness.report.results import Result
from harness.run.observation.variant_run import VariantRun
from harness.scenario.metrics import METRICS
from harness.scenario.schema import Scenario
from railyard.cli.display.screen import out
from railyard.cli.display.table import print_table

__all__ = ["print_failed", "print_summary"]

COLUMNS = {
    "correct_npus": "right NPUs",
    "completion_us": "took, µs",
    "bound_us": "bound, µs",
    "ratio_to_bound": "ratio",
    "lost_frames": "frames lost",
    "retransmitted_frames": "sent again",
    "nodes_notified": "nodes told",
    "convergence_us": "converged, µs",
}

# Values of columns for a run that halted.
_HALTED = {"completion_us": "halted", "ratio_to_bound": ""}

# Largest number of jobs in the table of losses.
_LOSSES = 20

# Functions that return the values of the table about a run in real time, by heading.
MEASURED: Mapping[str, Callable[[Measured], str]] = {
    "a second took": lambda m: f"{shown(m.dilation)} s",
    "real time": lambda m: duration(10**6 * m.seconds),
    "sent of offered": lambda m: percent(m.achieved),
    "late, 99th perc.": lambda m: duration(m.lateness_us[1]),
    "latest": lambda m: duration(m.lateness_us[2]),
    "processors": lambda m: percent(m.cpu_busy),
    "busiest process": lambda m: f"{m.busiest[0]} {percent(m.busiest[1])}",
    "lost unduly": lambda m: f"{sum(m.undue_drops.values()):,}",
}


def print_failed(result: Result, console: Console) -> None:
    """Print the failed assertions, each with its value and its limit."""
    for item in result.assertions:
        if item.verdict == "fails":
            words = f"{escape(item.name)}: {item.shown_value} against {item.shown_limit}"
            if item.metric.endswith("].at_us"):
                words += "; the run ended before the fault, give an earlier `at_us:`"
            console.print(f"[red]fails[/] {words}", soft_wrap=True)


def print_summary(
    scenario: Scenario,
    result: Result,
    runs: Mapping[str, VariantRun],
    report: Path,
    console: Console | None = None,
) -> None:
    """Print metrics of all variants, errors, failed assertions, trust in the times, and the report's path."""
    console = console or out()
    _print_figures(scenario, result, runs, console)
    _print_losses(scenario, runs, console)
    for variant, run in runs.items():
        if run.observation.first_wrong:
            console.print(f"{variant}: {run.observation.first_wrong}", markup=False)
        for takeover in run.observation.takeovers:
            console.print(f"{variant}: {takeover}", markup=False)
        for words in lacks_words(run.observation.reconfigurations):
            console.print(f"{variant}: {words}", markup=False, soft_wrap=True)
    print_failed(result, console)
    for item in result.assertions:
        if item.verdict == "not judged":
            words = f"{escape(item.name)}: {item.shown_value} against {item.shown_limit}"
            console.print(f"[yellow]not judged[/] {words}")
    if result.fidelity:
        _print_trust(scenario, result, console)
    held = f"{result.held} of {len(result.assertions)} assertions hold"
    console.print(f"{held}, {result.unjudged} not judged" if result.unjudged else held)
    console.print(f"report: {report}", soft_wrap=True, markup=False)


def _print_figures(
    scenario: Scenario, result: Result, runs: Mapping[str, VariantRun], console: Console
) -> None:
    rows = []
    for variant in scenario.variants:
        run = runs[variant.name]
        figures = (
            _HALTED[name]
            if run.observation.halted and name in _HALTED
            else shown(round(result.of(variant.name, name), 3)) + (_mark(run) if METRICS[name].timed else "")
            for name in COLUMNS
        )
        rows.append((escape(variant.label), *figures))
    doubtful = any(run.doubtful for run in runs.values())
    print_table(
        console,
        ("variant", *COLUMNS.values()),
        rows,
        numbers=tuple(COLUMNS.values()),
        title=f"{scenario.title or scenario.name} (seed {result.seed})",
        caption="? depends on times that cannot be believed" if doubtful else "",
    )


def _mark(run: VariantRun) -> str:
    return " ?" if run.doubtful else ""


def _print_losses(scenario: Scenario, runs: Mapping[str, VariantRun], console: Console) -> None:
    """Print the jobs that halted or took longer than without faults, if variants with faults list jobs."""
    listed = {name for name, run in runs.items() if run.observation.jobs and run.observation.faults}
    outcomes = [outcome for outcome in job_outcomes(scenario, runs) if outcome.variant in listed]
    if not any(outcome.reference for outcome in outcomes):
        return
    losing = [outcome for outcome in outcomes if outcome.loses]
    rows = [
        (
            escape(scenario.variant(outcome.variant).label),
            escape(outcome.job),
            "halted"
            if outcome.completion_us is None
            else shown(round(outcome.completion_us, 3)) + _mark(runs[outcome.variant]),
            "" if outcome.reference_us is None else shown(round(outcome.reference_us, 3)),
            "" if outcome.slowdown is None else f"{outcome.slowdown:.3f}" + _mark(runs[outcome.variant]),
        )
        for outcome in losing[:_LOSSES]
    ]
    more = f"; {len(losing) - _LOSSES} more in the report" if len(losing) > _LOSSES else ""
    numbers = ("took, µs", "without faults, µs", "ratio")
    print_table(
        console,
        ("variant", "job", *numbers),
        rows,
        numbers=numbers,
        caption=f"{len(losing)} of {len(outcomes)} jobs halted or took 0.5 % longer{more}",
    )


def _print_trust(scenario: Scenario, result: Result, console: Console) -> None:
    word = verdict(result.fidelity)
    console.print(f"[bold {'green' if word == TRUSTWORTHY else 'red'}]{word}[/]")
    variants = [variant for variant in scenario.variants if variant.name in result.fidelity]
    runs = [result.fidelity[variant.name] for variant in variants]
    rows = [
        (
            variant.name,
            *(escape(figure(run.measured)) for figure in MEASURED.values()),
            "[green]yes[/]" if run.trustworthy else "[red]no[/]",
        )
        for variant, run in zip(variants, runs, strict=True)
    ]
    print_table(console, ("variant", *MEASURED, "believed"), rows, numbers=tuple(MEASURED))
    for variant, run in zip(variants, runs, strict=True):
        for reason in run.reasons:
            console.print(f"{variant.name}: {reason}", markup=False, soft_wrap=True)
    for note in dict.fromkeys(note for run in runs for note in run.measured.notes):
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    helps = remedies([run for run in runs if not run.trustworthy])
    if helps:
        console.print(f"what helps: {'; '.join(helps)}", markup=False, soft_wrap=True)
