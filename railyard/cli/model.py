# SPDX-License-Identifier: Apache-2.0
"""railyard model: interconnects compared by how fast they train, in closed form; nothing is emulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from railyard.cli.screen import counting, out

if TYPE_CHECKING:
    from papers.training.study import Outcome

__all__ = ["model"]


def model(
    file: Annotated[Path, typer.Argument(help="study file")],
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for result.json and plot.svg; else results/NAME")
    ] = None,
    layouts: Annotated[
        str | None, typer.Option(help="also show the best layouts found for this variant")
    ] = None,
) -> None:
    """Compare interconnects by the training performance of an NPU; write result.json and plot.svg."""
    from lab.report.output import output_folder
    from papers.training.plot import plot_svg
    from papers.training.study import READINGS, load, run, to_document

    study = load(file)
    if layouts is not None and layouts not in (names := [variant.name for variant in study.variants]):
        raise typer.BadParameter(
            f"no variant {layouts!r}; there are {', '.join(names)}", param_hint="--layouts"
        )
    with output_folder(folder or Path("results", study.name)) as target:
        with counting(len(READINGS) * len(study.variants) * len(study.models), "searches") as advance:
            outcome = run(study, advance)
        document = to_document(outcome)
        target.write("result.json", json.dumps(document, indent=2, sort_keys=True) + "\n")
        plot = target.write("plot.svg", plot_svg(outcome))
    console = out()
    for reading, (_, text) in READINGS.items():
        console.print(f"{study.title or study.name}; {reading}: {text}", markup=False, soft_wrap=True)
        console.print(_performance(outcome, reading))
    if study.paper:
        console.print(_paper(outcome))
    if layouts is not None:
        for reading in READINGS:
            console.print(_layouts(outcome, reading, layouts))
    console.print(f"written: {plot}", soft_wrap=True)


def _performance(outcome: Outcome, reading: str) -> Table:
    study = outcome.study
    spans = [span.name for span in study.spans]
    table = Table("variant", *study.models, *spans, box=None, pad_edge=False)
    table.caption = f"% of {study.baseline}: by model over all lengths, by length over all models"
    for variant in study.variants:
        by_model = [outcome.percent(reading, variant.name, [name]) for name in study.models]
        by_span = [outcome.percent(reading, variant.name, None, study.span(name)) for name in spans]
        table.add_row(variant.label, *(f"{value:.2f}" for value in (*by_model, *by_span)))
    return table


def _paper(outcome: Outcome) -> Table:
    readings = list(outcome.findings[0].ours)
    table = Table("the paper's", "of", "models", "lengths", "paper", *readings, "", box=None, pad_edge=False)
    for found in outcome.findings:
        value = found.value
        table.add_row(
            value.variant,
            found.against,
            ", ".join(value.models or ("all",)),
            value.span or "all",
            f"{value.percent:.2f}",
            *(f"{ours:.2f} ({ours - value.percent:+.2f})" for ours in found.ours.values()),
            "in between" if found.bracketed else "",
        )
    return table


def _layouts(outcome: Outcome, reading: str, variant: str) -> Table:
    columns = ("model", "length", "best", "where", "arithmetic", "idle", "collectives", "gradients", "inward")
    table = Table(*columns, box=None, pad_edge=False, title=f"{variant}, {reading}", title_justify="left")
    table.caption = "shares of an iteration, %; inward: times as long with DP innermost and TP outermost"
    for model_name in outcome.study.models:
        for length in outcome.study.sequences:
            cell = outcome.cells[reading, variant, model_name, length]
            best = cell.best
            parts = (best.arithmetic, best.idle, best.exposed, best.gradients)
            table.add_row(
                model_name,
                length,
                str(best.layout),
                best.placement.where,
                *(f"{100 * part / best.seconds:.1f}" for part in parts),
                f"{cell.inward:.2f}",
            )
    return table
