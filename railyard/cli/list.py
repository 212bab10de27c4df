# SPDX-License-Identifier: Apache-2.0
"""railyard list: scenarios, studies and topologies by name, parameters of a topology, metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from railyard.cli.screen import out

if TYPE_CHECKING:
    from topologies.families.declaration import Family

__all__ = ["list_names"]

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def list_names(
    topology: Annotated[str, typer.Argument(help="a topology, to list its parameters")] = "",
    metrics: Annotated[bool, typer.Option("--metrics", help="list the metrics of a result instead")] = False,
) -> None:
    """List scenarios, studies and topologies, or the parameters of a topology."""
    console = out()
    if metrics:
        console.print(_metrics())
    elif topology:
        from topologies.families.registry import find

        family = find(topology)
        console.print(escape(f"{family.name}: {family.text}"))
        if family.source is not None:
            console.print(escape(f"source: {family.source}"))
        console.print(_parameters(family) if family.parameters else "no parameters")
    else:
        for table in (*_files(), _topologies()):
            console.print(table)
            console.print()
        console.print("`railyard list NAME` shows the parameters of a topology.")


def _metrics() -> Table:
    from lab.report.metrics import ALL_METRICS

    table = _table("metric", "", "meaning")
    table.caption = "timed: not judged in a run in real time whose times cannot be believed"
    for name, metric in ALL_METRICS.items():
        table.add_row(name, "timed" if metric.timed else "", escape(metric.meaning))
    return table


def _files() -> tuple[Table, Table]:
    """Return a table of scenarios and a table of studies."""
    scenarios, studies = _table("scenario", "what it is"), _table("study", "what it is")
    for path in sorted(EXPERIMENTS.glob("*/*.yaml")):
        table = studies if path.name == "model.yaml" else scenarios
        table.add_row(_relative(path), escape(_title(path)))
    return scenarios, studies


def _title(path: Path) -> str:
    """Return the title of a scenario or study without reading the rest of the file."""
    from ruamel.yaml import YAML, YAMLError
    from ruamel.yaml.events import MappingStartEvent, ScalarEvent, SequenceStartEvent

    values: dict[str, str] = {}
    key = None
    try:
        with path.open(encoding="utf-8") as file:
            for event in YAML(typ="safe", pure=True).parse(file):
                if key is None and isinstance(event, ScalarEvent):
                    key = event.value
                elif key is not None and isinstance(event, ScalarEvent):
                    values[key], key = event.value, None
                elif key is not None and isinstance(event, MappingStartEvent | SequenceStartEvent):
                    break  # names and titles stand above all blocks
                if "title" in values:
                    break
    except (OSError, UnicodeDecodeError, YAMLError) as ex:
        return f"cannot be read: {ex}"
    return values.get("title") or values.get("name", "")


def _topologies() -> Table:
    from topologies.families.registry import families

    table = _table("topology", "what it is")
    for family in families():
        table.add_row(family.name, escape(family.text))
    return table


def _parameters(family: Family[...]) -> Table:
    table = _table("parameter", "unit", "range", "default", "what it sets")
    for parameter in family.parameters:
        default = "must be given" if parameter.default is None else parameter.spell(parameter.default)
        table.add_row(parameter.name, parameter.unit, parameter.range, default, escape(parameter.text))
    return table


def _table(*columns: str) -> Table:
    """Return a table that folds text at the width of the screen; names in its first column stay whole."""
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    return table


def _relative(path: Path) -> str:
    """Return a path as the user can type it in the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
