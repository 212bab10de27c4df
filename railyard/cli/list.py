"""railyard list: what there is to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from railyard.cli.screen import out

__all__ = ["list_names"]

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def list_names(
    metrics: Annotated[bool, typer.Option("--metrics", help="list the metrics of a result instead")] = False,
) -> None:
    """List scenarios, studies and topologies."""
    out().print(_metrics() if metrics else _everything())


def _metrics() -> Table:
    from lab.report.metrics import ALL_METRICS

    table = Table("metric", "", "meaning", box=None, pad_edge=False)
    table.caption = "timed: not judged in a run in real time whose times cannot be believed"
    for name, metric in ALL_METRICS.items():
        table.add_row(name, "timed" if metric.timed else "", metric.meaning)
    return table


def _everything() -> Table:
    from lab.errors import ScenarioError
    from lab.scenario.loader import load
    from papers.training.study import load as load_study
    from topologies.catalog import describe, names

    table = Table("kind", "name", "what it is", box=None, pad_edge=False)
    for path in sorted(EXPERIMENTS.glob("*/*.yaml")):
        study = path.name == "model.yaml"
        try:
            found = load_study(path) if study else load(path)[0]
            text = found.title or found.name
        except ScenarioError as ex:
            text = f"cannot be read: {ex}"
        table.add_row("study" if study else "scenario", _near(path), text)
    for name in names():
        generator = describe(name)
        parameters = ", ".join(parameter.name for parameter in generator.parameters)
        table.add_row("topology", name, f"{generator.text} ({parameters})")
    return table


def _near(path: Path) -> str:
    """As the user can type it from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
