# SPDX-License-Identifier: Apache-2.0
"""Output of `railyard sweep` after the last run of a study: tables, sweep.json, report.html."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from harness.report.figures.plot import on_sheet
from harness.sweeps.axes import in_words
from harness.sweeps.cases import KEPT, kind_in_words
from harness.sweeps.comparisons import Comparison, compare_variants
from harness.sweeps.page import distributions, study_html
from harness.sweeps.statistics import SEEDS_ALIKE, Group, grouped, seeds_alike, shown_metrics
from harness.sweeps.table import (
    RANKED,
    RANKING,
    Record,
    axes_of,
    job_losses,
    name_of,
    passed,
    record_of,
    summary_json,
    varied,
    worst,
)
from harness.sweeps.worker import STATUSES
from railyard.cli.display.screen import out
from railyard.cli.display.table import print_table

if TYPE_CHECKING:
    from harness.output import OutputFolder
    from harness.sweeps.plan import Run, StudyPlan
    from harness.sweeps.store import RunResult

__all__ = ["print_study"]

_COLOURS = {"right": "green", "over": "yellow", "stopped": "yellow"}
_SHOWN = 20
_CAPTION = "the worst failures; jobs: those that halted, or took longer than in the healthy run"


def print_study(
    plan: StudyPlan,
    results: Sequence[RunResult],
    late: Sequence[Run],
    folder: OutputFolder,
    command: str,
    *,
    allow_stopped: bool = False,
) -> bool:
    """Write the files of a study, print its statistics, and return whether the study passed.

    `late` runs were left out, because their faults come after the end of the healthy run. With
    `allow_stopped`, runs that stopped because nodes were unreachable do not fail the study.
    """
    console = out()
    records = [record_of(result) for result in results]
    axes = axes_of(results)
    compared = compare_variants(plan, results)
    study = plan.study
    about = [f"{len(values)} values of {key}" for key, values in study.set.items()]
    about += [f"{len(study.seeds)} seeds"] if study.seeds else [f"seed {results[0]['seed']}"]
    about += [kind_in_words(kind) for kind in study.fail_each]
    about += [KEPT] if study.keep_faults else []
    if (planned := len(plan.runs) - len(late)) > len(results):
        about.append(f"{len(results):,} of {planned:,} runs so far")
    title = plan.scenario.title or plan.scenario.name
    written = [
        folder.write("sweep.json", summary_json(plan, results, allow_stopped=allow_stopped)),
        folder.write("sweep.svg", on_sheet(distributions(records, axes)) + "\n"),
        folder.write("report.html", study_html(title, "; ".join(about), records, axes, command, compared)),
    ]
    _print_groups(console, grouped(records, axes), axes, shown_metrics(records))
    if seeds_alike(records, axes):
        console.print(f"note: {SEEDS_ALIKE}", markup=False, soft_wrap=True)
    _print_worst(console, records, axes)
    _print_troubles(console, records, axes)
    _print_comparisons(console, compared)
    _print_late(console, late)
    counted = [record for record in records if record["failed"]] if study.fail_each else records
    _print_counts(console, counted, axes)
    for path in written:
        console.print(f"written: {path}", soft_wrap=True, markup=False)
    everything_late = bool(late) and not counted
    holds = all(item.outcome.passed for item in compared)
    return passed(results, allow_stopped=allow_stopped) and holds and not everything_late


def _print_groups(
    console: Console, groups: Sequence[Group], axes: Sequence[str], metrics: Mapping[str, str]
) -> None:
    """Print a table with median and maximum of each metric over the runs of each group."""
    cut = any(group.failed for group in groups)
    rows = []
    for group in groups:
        rows.append(
            (
                escape(group.variant),
                *(escape(in_words(group.point[axis])) for axis in axes),
                *([str(group.failed)] if cut else []),
                str(group.total),
                str(len(group.records)),
                *(_shown(group, metric) for metric in metrics),
            )
        )
    numbers = (*(["failed"] if cut else []), "runs", "right", *metrics.values())
    heads = ("variant", *axes, *numbers)
    print_table(console, heads, rows, numbers=numbers, caption="median and maximum of the runs")


def _shown(group: Group, metric: str) -> str:
    values = sorted(record[metric] for record in group.records if metric in record)
    if not values:
        return ""
    half = len(values) // 2
    middle = values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
    return f"{middle:.4g}" if middle == values[-1] else f"{middle:.4g} - {values[-1]:.4g}"


def _print_worst(console: Console, records: Sequence[Record], axes: Sequence[str]) -> None:
    """Print a table of the worst runs with failed targets; nothing if the study fails no targets."""
    losses = job_losses(records, axes)
    several = varied(records, axes)
    rows = [
        (
            escape(record["variant"]),
            *(escape(in_words(record.get(axis))) for axis in several),
            escape(record["cut"]),
            record["status"],
            escape(losses[record["run"]]),
            *(f"{record[metric]:.6g}" if metric in record else "" for metric in RANKING),
        )
        for record in worst(records, RANKED)
    ]
    if rows:
        heads = ("variant", *several, "what failed", "outcome", "jobs", *RANKING.values())
        print_table(console, heads, rows, numbers=tuple(RANKING.values()), caption=_CAPTION)


def _print_troubles(console: Console, records: Sequence[Record], axes: Sequence[str]) -> None:
    troubled = [record for record in records if record["status"] != "right"]
    for record in troubled[:_SHOWN]:
        status = record["status"]
        words = (
            f"[{_COLOURS.get(status, 'red')}]{status}[/] {escape(name_of(record, axes))}: "
            f"{escape(record['trouble'])}"
        )
        console.print(words, soft_wrap=True)
    if len(troubled) > _SHOWN:
        console.print(f"and {len(troubled) - _SHOWN} more, see report.html")


def _print_comparisons(console: Console, compared: Sequence[Comparison]) -> None:
    """Print at how many points and seeds each assertion about several variants holds."""
    counts: dict[str, list[bool]] = {}
    for item in compared:
        counts.setdefault(item.outcome.name, []).append(item.outcome.passed)
    for name, passed_at in counts.items():
        colour, word = ("green", "holds") if all(passed_at) else ("red", "fails")
        words = f"{escape(name)}, at {sum(passed_at)} of {len(passed_at)} points and seeds"
        console.print(f"[{colour}]{word}[/] {words}", soft_wrap=True)


def _print_late(console: Console, late: Sequence[Run]) -> None:
    """Print the runs left out because their faults come after the end of the healthy run."""
    counts: dict[str, list[Run]] = {}
    for run in late:
        counts.setdefault(run.variant.name, []).append(run)
    for variant, runs in counts.items():
        at = min(fault.at_us for fault in runs[0].variant.faults)
        console.print(
            f"[yellow]over before the cut[/] {escape(variant)}: {len(runs)} runs left out; the faults come "
            f"at {at:g} µs, after the end of the healthy run; give an earlier `at_us:`",
            soft_wrap=True,
        )


def _print_counts(console: Console, records: Sequence[Record], axes: Sequence[str]) -> None:
    if not records:
        console.print("no run with a failure has ended")
        return
    right = [record for record in records if record["status"] == "right"]
    words = f"{len(right)} right results of {len(records)}"
    if spares := sum(bool(record["spare"]) for record in records):
        words += f", {spares} with a spare"
    for status in STATUSES:
        if status != "right" and (count := sum(record["status"] == status for record in records)):
            words += f", {count} {status} ({STATUSES[status]})"
    if right:
        slowest = max(right, key=lambda record: record["completion_us"])
        words += f"; slowest {slowest['completion_us']:g} µs, {name_of(slowest, axes)}"
    console.print(words, markup=False, soft_wrap=True)
