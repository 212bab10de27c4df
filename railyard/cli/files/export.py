# SPDX-License-Identifier: Apache-2.0
"""railyard export: write a fabric, a collective or a run as files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.output import writing
from railyard.cli.display.screen import out, say
from railyard.cli.options import TOPOLOGY, Dims, Parameters, fabric_of

if TYPE_CHECKING:
    from harness.run.prepare import Prepared

__all__ = ["EXAMPLES", "export"]

EXAMPLES = """
railyard export graphml ub-rack --out rack.graphml
railyard export dot full-mesh --dims 2x4 --out mesh.dot
railyard export msccl experiments/02_real_time/scenario.yaml --out allreduce.xml
railyard export chakra experiments/23_traffic_graph/scenario.yaml --out traces
railyard export chakra results/traffic-graph --out traces --gzip
"""


def export(
    name: Annotated[
        str, typer.Argument(metavar="FORMAT", help="graphml, dot, containerlab, msccl or chakra")
    ],
    what: Annotated[
        str,
        typer.Argument(help=f"{TOPOLOGY.help}; for msccl and chakra a scenario file or a folder of results"),
    ],
    target: Annotated[Path, typer.Option("--out", help="file to write; for chakra a folder")],
    dims: Dims = "",
    param: Parameters = None,
    variant: Annotated[str, typer.Option(help="variant of the scenario; unless given, the first")] = "",
    packed: Annotated[bool, typer.Option("--gzip", help="compress the traces of chakra")] = False,
) -> None:
    """Write a fabric, a collective of a scenario, or the traffic of a run, as files of another tool.

    A fabric becomes GraphML, DOT or containerlab's YAML. An AllReduce or all-gather becomes MSCCL's XML. The
    format chakra writes a trace for each rank, with sends, receives, computations and their dependencies, and
    with times if a folder of results is given.
    """
    from harness.errors import FormatError
    from harness.scenario.library import file_of
    from topologies.sources.exports import EXPORTS

    if name == "chakra":
        _chakra(file_of(Path(what)), variant, target, packed=packed)
        return
    if name == "msccl":
        text = _msccl(file_of(Path(what)), variant)
    elif name in EXPORTS:
        text = EXPORTS[name](fabric_of(what, dims, param))
    else:
        raise FormatError(
            f"the format {name!r} is unknown", remedy=f"give {', '.join(EXPORTS)}, msccl or chakra"
        )
    with writing(target, "name a file that can be written"):
        target.write_text(text, encoding="utf-8")
    say(f"written: {target}")


def _msccl(path: Path, variant: str) -> str:
    """Return the XML of a scenario's AllReduce or all-gather."""
    from harness.errors import FormatError
    from harness.formats.msccl.write import to_msccl

    name, ready, _ = _prepared(path, variant)
    job = ready.jobs[0]
    kind = job.collective.kind
    if kind not in ("allreduce", "all-gather"):
        raise FormatError(
            f"{path}: the first job is a {kind}, and msccl supports allreduce and all-gather only",
            remedy="name a variant with one of these collectives",
        )
    return to_msccl(job.sliced.schedule, name, kind)


def _chakra(path: Path, variant: str, folder: Path, *, packed: bool) -> None:
    """Write the traces of a scenario's traffic, with the times of results if `path` is their folder."""
    from harness.formats.chakra.run import traces_of
    from harness.formats.chakra.write import write_traces

    name, ready, results = _prepared(path, variant)
    traces, notes = traces_of(ready.jobs, ready.variant.name, results)
    write_traces(folder, name, traces, packed=packed)
    for note in notes:
        out().print(f"  {note}", markup=False)
    nodes = sum(len(messages) - 1 for messages in traces.values())
    say(
        f"written: {folder}/{name}.0.et and others, {len(traces)} ranks, {nodes} nodes",
    )


def _prepared(path: Path, variant: str) -> tuple[str, Prepared, dict[str, Any]]:
    """Return the name SCENARIO-VARIANT, the prepared variant, and the results.

    The results are the content of result.json if `path` is a folder of results, otherwise empty.
    """
    import json

    from harness.errors import FormatError
    from harness.report.bundle import as_run
    from harness.run.prepare import prepare
    from harness.scenario.digest import digest
    from railyard.api.scenarios import only
    from railyard.cli.files.bundle import loaded, ran

    results: dict[str, Any] = {}
    options: dict[str, Any] = {"dims": "", "variants": ()}
    file = path
    if path.is_dir():
        file, options = ran(path)
        results = json.loads((path / "result.json").read_text(encoding="utf-8"))
    scenario, document = loaded(file, options["dims"], results.get("seed"), options["variants"])
    names = [each.name for each in scenario.variants]
    if variant and variant not in names:
        raise FormatError(
            f"{path}: there is no variant named {variant!r}", remedy=f"choose among {', '.join(names)}"
        )
    chosen = variant or names[0]
    prepared = prepare(scenario if results else only(scenario, [chosen]), document)
    if results and results["input"] != digest(as_run(scenario, prepared), results["seed"]):
        raise FormatError(f"{path}: {file} has changed since the run", remedy="run the scenario again")
    (ready,) = (each for each in prepared if each.variant.name == chosen)
    return f"{scenario.name}-{chosen}", ready, results
