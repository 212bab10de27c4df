# SPDX-License-Identifier: Apache-2.0
"""railyard import: make a scenario from files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from railyard.cli.display.screen import out, say

__all__ = ["EXAMPLES", "import_files"]

EXAMPLES = """
railyard import msccl allreduce-allpairs-8n-ll.xml --out allpairs
railyard run allpairs/scenario.yaml
railyard import simai workload_analytical.txt --ranks 32 --scale 0.001 --out analytical
"""


def import_files(
    name: Annotated[
        str, typer.Argument(metavar="FORMAT", help="chakra, goal, htsim, msccl, mscclpp, ns-3-ub or simai")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="a file, or the folder of a case")],
    folder: Annotated[
        Path, typer.Option("--out", help="folder for scenario.yaml, graph.json and fabric.json")
    ],
    scale: Annotated[
        float,
        typer.Option(
            help="simai: factor for all bytes and all times of computations, which keeps their ratio; "
            "delays of links stay, so they weigh more with a small factor",
            min=1e-9,
            max=1.0,
        ),
    ] = 1.0,
    layers: Annotated[
        int | None,
        typer.Option(help="simai: import this number of layers, from the first", min=1, show_default="all"),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            help="simai: number of ranks of one pipeline stage; a smaller number reduces data parallelism",
            min=2,
            show_default="all",
        ),
    ] = None,
) -> None:
    """Make a scenario from another tool's traffic, with fabric and faults if the files contain them.

    Printed notes name the features of the files that Railyard treats differently, and the imported part.

    Exit code 2: a file is invalid; the message names file and line.
    """
    from harness.formats.imported import Part
    from harness.formats.registry import read_files
    from harness.formats.written import write_imported

    imported = read_files(name, files, Part(scale, layers, ranks))
    scenario = write_imported(imported, folder, files[0].name)
    fabric = f", {len(imported.fabric.nodes)} nodes" if imported.fabric is not None else ""
    graph = imported.traffic
    if graph is None:
        traffic = f"{imported.collective['kind']} by {imported.collective['algorithm']}"
    else:
        traffic = f"{len(graph.operations)} operations of {len(graph.members)} members"
    say(f"{imported.name}: {traffic}{fabric}")
    for note in imported.notes:
        out().print(f"  {note}", markup=False)
    say(f"written: {scenario}")
