# SPDX-License-Identifier: Apache-2.0
"""railyard list: list scenarios, studies, topologies, collectives, parameters and metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from harness.files import EXPERIMENTS
from railyard.cli.display.screen import out, say
from railyard.cli.display.table import print_table
from railyard.cli.options import refuse

if TYPE_CHECKING:
    from topologies.families.declaration import Family

__all__ = ["EXAMPLES", "list_names"]

EXAMPLES = """
railyard list
railyard list full-mesh
railyard list --metrics
railyard list --json | jq -r '.scenarios[].file'
"""


def list_names(
    topology: Annotated[
        str, typer.Argument(help="a topology, or FILE.py:NAME of a family, to list its parameters")
    ] = "",
    metrics: Annotated[bool, typer.Option("--metrics", help="list the metrics of a result instead")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print everything as a JSON document")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="print the JSON schema of result.json instead")
    ] = False,
) -> None:
    """List scenarios, studies, topologies and collectives, or the parameters of a topology."""
    if topology and (schema or metrics):
        option = "--schema" if schema else "--metrics"
        refuse(option, f"{option} takes no topology, and {topology!r} is given; leave out one of them")
    if schema:
        from harness.report.document import result_schema

        typer.echo(result_schema(), nl=False)
    elif as_json:
        typer.echo(json.dumps(_document(topology), indent=2))
    elif metrics:
        _print_metrics()
    elif topology:
        _print_family(_family(topology))
    else:
        _print_files()
        _print_topologies()
        _print_collectives()
        say("`railyard list NAME` shows the parameters of a topology.")


def _print_metrics() -> None:
    from harness.scenario.metrics import ALL_METRICS

    print_table(
        out(),
        ("metric", "", "meaning"),
        [
            (name, "timed" if metric.timed else "", escape(metric.meaning))
            for name, metric in ALL_METRICS.items()
        ],
        names=("metric",),
        caption="timed: not judged in a run in real time whose times cannot be believed",
    )


def _document(topology: str) -> dict[str, Any]:
    """Return all lists as a JSON object, or the parameters of `topology` if it is given."""
    from emulation.traffic.collectives.registry import kinds
    from harness.report.document import units
    from harness.scenario.metrics import ALL_METRICS
    from topologies.families.registry import families

    if topology:
        return _family_document(_family(topology))
    files = {
        kind: [{"name": name, "file": file, "title": title} for name, file, title in rows]
        for kind, rows in _files().items()
    }
    unit = units(ALL_METRICS)
    return {
        "scenarios": files["scenario"],
        "studies": files["study"],
        "topologies": [_family_document(family) for family in families()],
        "collectives": [
            {"name": kind.name, "algorithms": [algorithm.name for algorithm in kind.algorithms]}
            for kind in kinds()
        ],
        "metrics": [
            {"name": name, "unit": unit[name], "meaning": metric.meaning, "timed": metric.timed}
            for name, metric in ALL_METRICS.items()
        ],
    }


def _family(topology: str) -> Family[...]:
    """Return the family of a name or of FILE.py:NAME; a usage error if no parameters are declared."""
    from topologies.sources.fabrics import family_of

    family = family_of(topology)
    if family is None:
        refuse(
            "TOPOLOGY",
            f"{topology} declares no parameters: it is a file with a fabric, or a function without "
            f"`@family`; `railyard show {topology}` shows its fabric",
        )
    return family


def _family_document(family: Family[...]) -> dict[str, Any]:
    parameters = [
        {
            "name": parameter.name,
            "unit": parameter.unit,
            "range": parameter.range,
            "default": None if parameter.default is None else parameter.spell(parameter.default),
            "text": parameter.text,
        }
        for parameter in family.parameters
    ]
    return {"name": family.name, "text": family.text, "parameters": parameters}


def _files() -> dict[str, list[tuple[str, str, str]]]:
    """Return name, file and title of each scenario and each study shipped with Railyard."""
    from harness.errors import ScenarioError
    from harness.scenario.document import name_of, title_of
    from harness.scenario.library import scenario_files

    tables: dict[str, list[tuple[str, str, str]]] = {"scenario": [], "study": []}
    for path in scenario_files():
        try:
            name, title = name_of(path), title_of(path)
        except ScenarioError as ex:
            name, title = "", f"cannot be read: {ex}"
        tables["study" if path.name == "model.yaml" else "scenario"].append((name, _relative(path), title))
    return tables


def _print_files() -> None:
    """Print a table of scenarios, and a table of studies."""
    for kind, rows in _files().items():
        lines = [(name, escape(title)) for name, _, title in rows]
        print_table(out(), (kind, "what it is"), lines, names=(kind,))
        say("")
    say(
        f"`railyard run NAME` runs a scenario, `railyard model NAME` a study; their files are in "
        f"{_relative(EXPERIMENTS)}/.\n",
    )


def _print_topologies() -> None:
    from topologies.families.registry import families

    rows = [(family.name, escape(family.text)) for family in families()]
    print_table(out(), ("topology", "what it is"), rows, names=("topology",))
    say("")


def _print_collectives() -> None:
    from emulation.traffic.collectives.registry import kinds

    rows = [(kind.name, ", ".join(algorithm.name for algorithm in kind.algorithms)) for kind in kinds()]
    print_table(out(), ("collective", "algorithms, the default first"), rows, names=("collective",))
    say("")


def _print_family(family: Family[...]) -> None:
    """Print the description, source and parameters of a topology."""
    out().print(f"{family.name}: {family.text}", markup=False)
    if family.source is not None:
        out().print(f"source: {family.source}", markup=False)
    rows = []
    for parameter in family.parameters:
        default = "must be given" if parameter.default is None else parameter.spell(parameter.default)
        row = (parameter.name, parameter.unit, parameter.range, default, parameter.text)
        rows.append(tuple(map(escape, row)))
    headings = ("parameter", "unit", "range", "default", "what it sets")
    if rows:
        print_table(out(), headings, rows, names=headings[:4])
    else:
        say("no parameters")


def _relative(path: Path) -> str:
    """Return a path relative to the current folder if it lies inside, else the whole path."""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
