# SPDX-License-Identifier: Apache-2.0
"""railyard sweep --fail-each-npu and --fail-each-switch."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from railyard.cli.screen import counting, out

if TYPE_CHECKING:
    from lab.sweeps.failures import TargetKind

__all__ = ["fail_each"]

FAILED = {"npu": "NPUs failed", "switch": "switches failed"}


def fail_each(
    file: Path, kind: TargetKind, variant: str | None, jobs: int, seed: int | None, folder: Path | None
) -> None:
    """Run a variant once for every NPU or switch, in parallel processes; write sweep.json."""
    from lab.report.output import output_folder
    from lab.sweeps.failures import failures, passed, plan_failures, to_json

    scenario, planned = plan_failures(file, variant, seed, kind)
    results = []
    with output_folder(folder or Path("results", f"{scenario.name}-each-{kind}")) as target:
        total = len(planned.targets)
        with counting(total, FAILED[kind]) as advance, closing(failures(planned, jobs)) as running:
            for outcome in running:
                results.append(outcome)
                advance()
        written = target.write("sweep.json", to_json(scenario, planned, "embedded", results))
    console = out()
    for outcome in results:
        if not outcome.right:
            word = "[yellow]stopped[/]" if outcome.stopped else "[red]wrong[/]"
            console.print(f"{word} {escape(outcome.target)}: {escape(outcome.trouble)}", soft_wrap=True)
    summary = f"{sum(outcome.right for outcome in results)} right results of {total}"
    if spares := sum(bool(outcome.spare) for outcome in results):
        summary += f", {spares} with a spare"
    if stopped := sum(outcome.stopped for outcome in results):
        summary += f", {stopped} stopped and said what was cut off"
    slowest = max(results, key=lambda outcome: outcome.completion_us)
    console.print(f"{summary}; slowest {slowest.completion_us:g} µs, {slowest.target}", markup=False)
    console.print(f"written: {written}", soft_wrap=True)
    raise typer.Exit(0 if passed(planned, results) else 1)
