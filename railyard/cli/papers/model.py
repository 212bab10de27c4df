# SPDX-License-Identifier: Apache-2.0
"""railyard model: compare the training performance of interconnects in closed form, without emulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from railyard.cli.display.screen import counting, out, say
from railyard.cli.display.table import print_table
from railyard.cli.options import refuse

if TYPE_CHECKING:
    from papers.training.study import Outcome

__all__ = ["EXAMPLES", "model"]

EXAMPLES = """
railyard model experiments/04_intra_rack/model.yaml
railyard model intra-rack
railyard model experiments/05_inter_rack/model.yaml --layouts detour
"""


def model(
    file: Annotated[Path, typer.Argument(help="study file or name, see `railyard list`")],
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for result.json and plot.svg; else results/NAME")
    ] = None,
    layouts: Annotated[
        str | None,
        typer.Option(
            metavar="VARIANT", help="also print the best layout of each training job on this variant"
        ),
    ] = None,
) -> None:
    """Compare interconnects by the training performance per NPU; write result.json and plot.svg.

    No network is emulated: a closed-form model searches the best placement of each training job.
    """
    from harness.output import output_folder
    from harness.scenario.library import file_of
    from papers.training.plot import plot_svg
    from papers.training.study import READINGS, load, run, to_document

    study = load(file_of(file))
    if layouts is not None and layouts not in (names := [variant.name for variant in study.variants]):
        refuse("--layouts", f"there is no variant named {layouts!r}; choose among {', '.join(names)}")
    with output_folder(folder or Path("results", study.name)) as target:
        with counting(len(READINGS) * len(study.variants) * len(study.models), "searches") as advance:
            outcome = run(study, advance)
        document = to_document(outcome)
        target.write("result.json", json.dumps(document, indent=2, sort_keys=True) + "\n")
        plot = target.write("plot.svg", plot_svg(outcome))
    for reading, (_, text) in READINGS.items():
        say(f"{study.title or study.name}; {reading}: {text}")
        _performance(outcome, reading)
    if study.paper:
        _paper(outcome)
    if layouts is not None:
        for reading in READINGS:
            _layouts(outcome, reading, layouts)
    say(f"written: {plot}")


def _performance(outcome: Outcome, reading: str) -> None:
    study = outcome.study
    spans = [span.name for span in study.spans]
    rows = []
    for variant in study.variants:
        by_model = [outcome.percent(reading, variant.name, [name]) for name in study.models]
        by_span = [outcome.percent(reading, variant.name, None, study.span(name)) for name in spans]
        rows.append((escape(variant.label), *(f"{value:.2f}" for value in (*by_model, *by_span))))
    print_table(
        out(),
        ("variant", *study.models, *spans),
        rows,
        numbers=(*study.models, *spans),
        caption=f"% of {study.baseline}: by model over all lengths, by length over all models",
    )


def _paper(outcome: Outcome) -> None:
    readings = list(outcome.findings[0].ours)
    rows = [
        (
            finding.value.variant,
            finding.against,
            ", ".join(finding.value.models or ("all",)),
            finding.value.span or "all",
            f"{finding.value.percent:.2f}",
            *(f"{ours:.2f} ({ours - finding.value.percent:+.2f})" for ours in finding.ours.values()),
            "in between" if finding.bracketed else "",
        )
        for finding in outcome.findings
    ]
    print_table(
        out(),
        ("the paper's", "of", "models", "lengths", "paper", *readings, ""),
        rows,
        numbers=("paper", *readings),
    )


def _layouts(outcome: Outcome, reading: str, variant: str) -> None:
    shares = ("arithmetic", "idle", "collectives", "gradients", "inward")
    rows = []
    for model_name in outcome.study.models:
        for length in outcome.study.sequences:
            cell = outcome.cells[reading, variant, model_name, length]
            best = cell.best
            parts = (best.arithmetic, best.idle, best.exposed, best.gradients)
            rows.append(
                (
                    model_name,
                    length,
                    escape(str(best.layout)),
                    escape(best.placement.where),
                    *(f"{100 * part / best.seconds:.1f}" for part in parts),
                    f"{cell.inward:.2f}",
                )
            )
    print_table(
        out(),
        ("model", "length", "best", "where", *shares),
        rows,
        numbers=shares,
        title=f"{variant}, {reading}",
        caption="shares of an iteration, %; inward: times as long with DP innermost and TP outermost",
    )
