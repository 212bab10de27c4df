"""railyard run: a scenario in, a result and a report out."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli.screen import out, progress

if TYPE_CHECKING:
    from rich.table import Table

    from lab.results import Result
    from lab.scenario import Scenario

__all__ = ["run"]

COLUMNS = {
    "right_npus": "right NPUs",
    "completion_us": "took, µs",
    "bound_us": "bound, µs",
    "ratio_to_bound": "ratio",
    "lost_frames": "frames lost",
    "retransmitted_frames": "sent again",
    "nodes_told": "nodes told",
    "convergence_us": "converged, µs",
}


def run(
    file: Annotated[Path, typer.Argument(help="scenario file")],
    testbed: Annotated[str, typer.Option(help="what runs it")] = "embedded",
    seed: Annotated[int | None, typer.Option(min=0, help="instead of the scenario's own")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results [results/NAME]")
    ] = None,
) -> None:
    """Run a scenario; write result.json, report.html, picture.svg and timing.json."""
    from lab.loader import load
    from lab.output import output_folder
    from lab.prepare import prepare
    from lab.report import picture_svg, report_html
    from lab.results import conclude, to_json
    from lab.runner import run as run_all

    if testbed != "embedded":
        raise typer.BadParameter(f"{testbed!r} is not there; use embedded", param_hint="--testbed")
    scenario, document = load(file)
    seed = scenario.seed if seed is None else seed
    with output_folder(folder or Path("results", scenario.name)) as target:
        with progress([variant.name for variant in scenario.variants]) as note:
            prepared = prepare(scenario, document, lambda variant: note(variant, "planning", 0.0))
            done = run_all(prepared, seed, note)
        result = conclude(scenario, seed, testbed, done.subjects)
        command = f"railyard run {shlex.quote(str(file))} --seed {seed}"
        fabric = prepared[0].fabric
        target.write("result.json", to_json(result))
        target.write("picture.svg", picture_svg(scenario, fabric, done.subjects))
        report = target.write("report.html", report_html(scenario, result, fabric, done.subjects, command))
        target.write("timing.json", json.dumps({"wall_clock_seconds": done.seconds}, indent=2) + "\n")
    console = out()
    console.print(_table(scenario, result))
    for variant, subject in done.subjects.items():
        if subject.seen.first_wrong:
            console.print(f"{variant}: {subject.seen.first_wrong}", markup=False)
    for item in result.assertions:
        if not item.passed:
            console.print(f"[red]fails[/] {item.name}: {item.value} against {item.limit}")
    held = sum(item.passed for item in result.assertions)
    console.print(f"{held} of {len(result.assertions)} assertions hold")
    console.print(f"report: {report}", soft_wrap=True)
    raise typer.Exit(0 if result.passed else 1)


def _table(scenario: Scenario, result: Result) -> Table:
    from rich.table import Table

    from lab.report import shown

    table = Table(title=f"{scenario.title or scenario.name} (seed {result.seed})")
    table.add_column("variant")
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right")
    for variant in scenario.variants:
        table.add_row(variant.label, *(shown(round(result.of(variant.name, name), 3)) for name in COLUMNS))
    return table
